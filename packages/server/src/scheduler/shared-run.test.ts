import assert from "node:assert/strict";
import { it } from "node:test";
import { settled } from "../ports/manual-runtime.fixture.ts";
import { sharedRun } from "./shared-run.ts";

it("answers each call by a run that began after it; calls that wait share one, and a failure ends with its own run", async () => {
  const runs: PromiseWithResolvers<void>[] = [];
  const call = sharedRun(() => {
    const run = Promise.withResolvers<void>();
    runs.push(run);
    return run.promise;
  });
  const ended: string[] = [];
  const named = (name: string) =>
    call().then(
      () => ended.push(name),
      () => ended.push(`${name} failed`),
    );
  void named("first");
  await settled();
  void named("second");
  void named("third");
  await settled();
  assert.equal(runs.length, 1, "the second and the third wait");
  runs[0]?.reject(new Error("the store is away"));
  await settled();
  assert.deepEqual([runs.length, ended], [2, ["first failed"]]);
  runs[1]?.resolve();
  await settled();
  assert.deepEqual(ended, ["first failed", "second", "third"]);
});
