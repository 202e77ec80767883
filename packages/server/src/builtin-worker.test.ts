import assert from "node:assert/strict";
import { it } from "node:test";
import { task } from "@mainspring/sdk";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { innerWorker } from "./builtin-worker.ts";
import { builtinWorkerId } from "./engine/workers/builtin-id.ts";
import { assignment, NODE, Stage } from "./gateway/gateway.fixture.ts";
import { createLog } from "./ops/logging.ts";

it("brings the branch that a handler of the built-in worker names to the owner", async () => {
  const stage = new Stage();
  stage.own();
  const check = task({ name: "echo", run: (_: unknown, ctx) => ctx.branch("good") });
  const deps = {
    gateway: stage.gateway,
    incarnation: NODE,
    turn: 0,
    runtime: systemRuntime(),
    log: createLog("silent"),
  };
  const worker = innerWorker(deps, { tasks: [check] });
  await worker.start();
  const report = stage.bus.nextReport(({ kind }) => kind === "FINISHED");
  stage.assign(assignment(1, { workerId: builtinWorkerId(NODE, 0) }));
  const finished = await report;
  assert.ok(finished.kind === "FINISHED");
  assert.equal(finished.results[0]?.branch, "good");
  await worker.stop({ timeoutMs: 0 });
});
