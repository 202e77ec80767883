import assert from "node:assert/strict";
import { it } from "node:test";
import { type TaskContext, task } from "@mainspring/sdk";
import { Handlers } from "./handlers.ts";
import { realTime } from "./real-time.ts";

it("says which handler the clock has waited for too long, what is under way, and what it had better do", async () => {
  const gate = Promise.withResolvers<void>();
  const polling = task({
    name: "polling",
    run: async () => {
      for (let open = false; !open; ) {
        open = await Promise.race([gate.promise.then(() => true), realTime.pause(20).then(() => false)]);
      }
    },
  });
  const handlers = new Handlers(() => 0, 50);
  const ctx = { executionId: "e1", attempt: 1, deadline: new Date(0), signal: new AbortController().signal };
  const run = handlers.watched(polling).invoke(null, ctx as TaskContext);
  const message = /the clock has waited .* for polling \(execution e1\), .*: Timeout\. .* takes ctx\.sleep\(ms\)/;
  await assert.rejects(
    handlers.settle(() => false),
    { message },
  );
  gate.resolve();
  await run;
  assert.equal(handlers.areRunning, false);
});

it("gives a handler the whole of ctx.checkpoint", async () => {
  const seen: unknown[] = [];
  const checkpoint = Object.assign(async (value: unknown) => void seen.push(value), { last: { row: 1 } });
  const reading = task({
    name: "reading",
    run: async (_payload: unknown, ctx: TaskContext) => {
      seen.push(ctx.checkpoint.last);
      await ctx.checkpoint({ row: 2 });
    },
  });
  const facts = { executionId: "e1", attempt: 1, deadline: new Date(0), signal: new AbortController().signal };
  await new Handlers(() => 0).watched(reading).invoke(null, { ...facts, checkpoint } as unknown as TaskContext);
  assert.deepEqual(seen, [{ row: 1 }, { row: 2 }]);
});
