import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { allMutants, mutantNamed } from "./all.ts";
import { failsItsTest } from "./failing-test.ts";
import { hunt } from "./hunt.ts";
import { records } from "./record.ts";

describe("the mutants", () => {
  it("have a place in the source, each exactly one", () => {
    const places = allMutants.flatMap((mutant) => [mutant, ...(mutant.also ?? [])]);
    const misplaced = places.filter(({ file, find }) => sourceOf(file).split(find).length !== 2);
    assert.deepEqual(misplaced, [], "whoever changes the source moves the mutant along");
  });

  it("have names of their own", () => {
    assert.equal(new Set(allMutants.map(({ name }) => name)).size, allMutants.length);
    assert.throws(() => mutantNamed("no such bug"), /there is no mutant "no such bug"; there are no epoch check, /);
  });

  it("are all that there are records of", () => {
    const names = allMutants.map(({ name }) => name);
    assert.deepEqual(
      [...records().keys()].filter((name) => !names.includes(name)),
      [],
    );
  });

  it("are caught by a seed that finds nothing without them", async () => {
    const { caught, objection } = await hunt(mutantNamed("off by one in backoff"));
    assert.ok(caught !== null && typeof caught !== "string");
    assert.equal(caught.checker, "retries wait");
    assert.ok(caught.afterMs < 3_600_000, "no longer than it takes");
    assert.equal(objection, null);
  });
});

describe("a mutant's test", () => {
  const mutant = mutantNamed("stuck slots are lent");
  const { test } = mutant;
  assert.ok(test !== undefined);

  it("fails with the mutant", async () => {
    assert.equal(await failsItsTest({ ...mutant, test }), true);
  });

  it("is refused where no test has its name", async () => {
    await assert.rejects(failsItsTest({ ...mutant, test: { ...test, name: "no such test" } }), /did not run/);
  });

  it("says so where it does not see the bug", async () => {
    const other = { ...test, name: "counts what takes a slot, what runs, and what waits for an acknowledgement" };
    const names = readFileSync(new URL(`../../../../${test.file}`, import.meta.url), "utf8");
    assert.ok(names.includes(other.name));
    assert.equal(await failsItsTest({ ...mutant, test: other }), false);
  });
});

function sourceOf(file: string): string {
  return readFileSync(new URL(`../../../../${file}`, import.meta.url), "utf8");
}
