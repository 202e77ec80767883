import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { defaultPool } from "../../domain/pool.ts";
import { Turns } from "../../ports/turns.ts";
import { JobHandlers } from "../handlers/job-handlers.ts";
import { PolicyBook } from "../handlers/kept-policies.ts";
import { PoolNames } from "../pools/pool-names.ts";
import { JobRequestJudge, type RequestJudgeDependencies } from "./request-judge.ts";

it("checks a large body piece by piece, and a turn of the event loop that is over ends between pieces", async () => {
  const runtime = systemRuntime();
  let ended = 0;
  const turns = new Turns(runtime);
  Object.defineProperty(turns, "isOver", { get: () => true });
  turns.next = async () => void ended++;
  const judge = new JobRequestJudge({
    runtime,
    intake: { turns, answered: () => Promise.reject(new Error("no key")), wasAnswered: async () => false },
    handlers: { filler: () => JobHandlers.fillerFrom({ read: async () => new PolicyBook([]) }, (_, pool) => pool) },
    pools: new PoolNames(10, runtime),
    orderings: { read: async () => defaultPool },
    log: pino({ level: "silent" }),
  } as unknown as RequestJudgeDependencies);
  const list = `[${"0,".repeat(500_000)}0]`;
  const body = Buffer.from(JSON.stringify({ target: { handler: "echo" } }).replace(/}$/, `,"payload":${list}}`));
  const fields = { tenant: "default", createdAt: runtime.now(), idempotencyKey: null, traceparent: null };
  const [decision] = await judge.decide([{ ...fields, id: runtime.uuid(), body }]);
  assert.ok(decision !== undefined && "jobs" in decision);
  assert.equal(Buffer.from(decision.jobs[0]?.payload ?? []).toString(), list);
  // One end comes before the request, and one before each piece but the first.
  assert.equal(ended, Math.ceil(body.length / 65_536));
});
