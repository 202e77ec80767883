import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, ExecutorScene } from "../../test/executor-scene.ts";
import { task } from "../task.ts";
import { Worker } from "../worker.ts";
import type { Middleware } from "./middleware.ts";
import { TerminalError } from "./retry-errors.ts";

const works = task({ name: "works", run: (payload: number) => payload + 1 });
const fails = task({
  name: "fails",
  run: () => {
    throw new TerminalError("no");
  },
});
const echoes = { ...works, name: "echoes", forward: (payload: string) => payload };

/** How an attempt of the handler ends within the middleware. */
async function ends(handler: string, ...middleware: Middleware[]) {
  const scene = new ExecutorScene(1, [works, fails, echoes], {}, middleware);
  scene.apply({ assigns: [assignment("x", { handler, payload: "1" })] });
  for (let turn = 0; turn < 5; turn++) await scene.runtime.turn();
  const [{ outcome, result, error, advice } = assert.fail("it has not ended")] = scene.reports.flatMap(
    ({ finished }) => finished,
  );
  return { outcome, result, message: error?.message, advice };
}

describe("middleware of a worker", () => {
  it("runs around the handler, the first one outermost, and knows the attempt", async () => {
    const told: string[] = [];
    const tells =
      (name: string): Middleware =>
      async (ctx, next) => {
        told.push(`${name} before ${ctx.handler} ${ctx.executionId}:${ctx.attempt}`);
        told.push(`${name} after ${await next()}`);
      };
    const end = await ends("works", tells("a"), tells("b"));
    assert.deepEqual([end.outcome, end.result], ["SUCCEEDED", "2"]);
    assert.deepEqual(told, ["a before works x:1", "b before works x:1", "b after 2", "a after 2"]);
  });

  it("neither changes a result nor hides an error, and is not passed over by a handler that forwards", async () => {
    const other: Middleware = async (_ctx, next) => {
      await next();
      return "other";
    };
    assert.equal((await ends("works", other)).result, "2");
    assert.equal((await ends("echoes", other)).result, "2");
    const swallows: Middleware = (_ctx, next) => next().catch(() => "fine");
    const hidden = await ends("fails", swallows);
    assert.deepEqual([hidden.outcome, hidden.message, hidden.advice], ["FAILED", "no", { kind: "NEVER" }]);
    const hurries: Middleware = (_ctx, next) => void next();
    assert.deepEqual([(await ends("works", hurries)).result, (await ends("fails", hurries)).message], ["2", "no"]);
  });

  it("may fail the attempt, before the handler or after it", async () => {
    const refuses: Middleware = () => {
      throw new TerminalError("not allowed");
    };
    const before = await ends("works", refuses);
    assert.deepEqual([before.outcome, before.message, before.advice], ["FAILED", "not allowed", { kind: "NEVER" }]);
    const commit: Middleware = async (_ctx, next) => {
      await next();
      throw new Error("commit failed");
    };
    assert.equal((await ends("works", commit)).message, "commit failed");
  });

  it("runs the handler once", async () => {
    assert.match((await ends("works", () => undefined)).message ?? "", /ended without next\(\)/);
    const twice: Middleware = async (_ctx, next) => {
      await next();
      await next();
    };
    assert.match((await ends("works", twice)).message ?? "", /called next\(\) twice/);
  });

  it("is added before the worker starts", async () => {
    const worker = new Worker({ tasks: [works], url: "127.0.0.1:1", warn: () => undefined });
    assert.equal(
      worker.use(() => undefined),
      worker,
    );
    const started = worker.start();
    assert.throws(() => worker.use(() => undefined), { code: "BAD_OPTION", message: /before the worker starts/ });
    await worker.stop({ timeoutMs: 0 });
    await assert.rejects(started);
  });
});
