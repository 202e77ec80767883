import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import type { WorkerStatus } from "../../ports/messages.ts";
import { type Letter, packed, unpacked } from "./packet.ts";

const worker: WorkerStatus = {
  ...{ workerId: "w", name: "w", pool: "default", handlers: ["echo"], capabilities: [], slots: 2, prefetch: 0 },
  ...{ state: "ALIVE", running: 1, connectedAt: 1, lastHeartbeatAt: 2, loopLagMs: 0 },
};
const arrived = (...letters: Letter[]) => unpacked(packed(letters));

describe("a packet between nodes", () => {
  it("carries the question for one worker, and the worker with its executions", () => {
    const attempt = { executionId: "e1", attempt: 1 };
    const stuck = { ...attempt, handler: null, state: "STUCK", startedAt: null } as const;
    const running = { ...attempt, handler: "echo", state: "RUNNING", startedAt: 5 } as const;
    const detail = { ...worker, free: 0, stuck: 1, executions: [stuck, running], executionsTotal: 2_000 };
    const letters: Letter[] = [
      { role: "gateway", message: { kind: "LIST_WORKERS", request: "r", workerId: "w" } },
      { role: "api", message: { kind: "WORKERS", request: "r", workers: [detail] } },
    ];
    assert.deepEqual(arrived(...letters), { letters, strange: 0 });
  });

  it("carries which handlers the workers of a gateway offer", () => {
    const declared = [{ isHome: true, policies: '{"timeoutSec":5}', workers: 2 }];
    const offers = [{ pool: "p", handler: "h", workers: 3, declared }];
    const letters: Letter[] = [
      { role: "gateway", message: { kind: "LIST_HANDLERS", request: "r" } },
      { role: "api", message: { kind: "HANDLERS", request: "r", offers, isWhole: true } },
    ];
    assert.deepEqual(arrived(...letters), { letters, strange: 0 });
  });

  it("carries what a node of the release before says of workers", () => {
    const letters: Letter[] = [
      { role: "gateway", message: { kind: "LIST_WORKERS", request: "r" } },
      { role: "api", message: { kind: "WORKERS", request: "r", workers: [worker] } },
    ];
    assert.deepEqual(arrived(...letters), { letters, strange: 0 });
  });

  it("carries suspensions, signals, and why an execution is suspended", () => {
    const token = { shard: 1, executionId: "e1", attempt: 2 };
    const ended = { startedAt: 5, finishedAt: 6, result: null, error: null, advice: null };
    const waits = [{ name: "approval", delayMs: 7, signals: ["ok"], isRecorded: true }];
    const results = [{ ...token, workerId: "w", state: "SUSPENDED" as const, ...ended, waits }];
    const step = { ...token, workerId: "w", number: 1, name: "approval", step: "RESULT" as const, data: null };
    const command = { id: "c", shard: 1, kind: "SIGNAL" as const, executionId: "e1" };
    const reasons = [
      { reason: "SLEEPING" as const, until: 8 },
      { reason: "AWAITS_SIGNAL" as const, until: 9 },
    ];
    const letters: Letter[] = [
      { role: "scheduler", message: { kind: "FINISHED", results } },
      { role: "scheduler", message: { kind: "STEPS", steps: [{ ...step, signalId: "s" }] } },
      { role: "scheduler", message: { kind: "COMMAND", command } },
      { role: "api", message: { kind: "COMMAND_DONE", commandId: "c", outcome: "SIGNALLED" } },
      { role: "api", message: { kind: "EXPLAINED", request: "r", reasons } },
    ];
    assert.deepEqual(arrived(...letters), { letters, strange: 0 });
  });

  it("carries the branch of a result, and no field for it where there is none", () => {
    const ended = { startedAt: 5, finishedAt: 6, result: Buffer.from("1"), error: null, advice: null };
    const result = { shard: 1, executionId: "e1", attempt: 2, workerId: "w", state: "SUCCEEDED" as const, ...ended };
    const arrivedBranches = (branch?: string) => {
      const results = [result, branch === undefined ? result : { ...result, branch }];
      const { letters, strange } = arrived({ role: "scheduler", message: { kind: "FINISHED", results } });
      const branches = letters.flatMap(({ message }) =>
        message.kind === "FINISHED"
          ? message.results.map((item) => (Object.hasOwn(item, "branch") ? item.branch : null))
          : [],
      );
      return [branches, strange];
    };
    assert.deepEqual(arrivedBranches("good"), [[null, "good"], 0]);
    assert.deepEqual(arrivedBranches(), [[null, null], 0]);
    assert.deepEqual(arrivedBranches("no name"), [[], 1]);
  });

  it("carries the lifetime of an execution, and the reason that names it", () => {
    const job = { jobId: "j", shard: 3, tenant: "default", pool: "default", handler: "echo", requires: [] };
    const keys = {
      concurrencyKey: null,
      concurrencyLimit: 1,
      hasUniqueKey: false,
      priority: 5,
      rank: 1,
      jobVersion: 1,
    };
    const times = { dueAt: 7, scheduledAt: 5, backfilledAt: 6, startedAt: null };
    const counts = { payloadBytes: 0, attempt: 0, failures: 0, lost: 0 };
    const policy = { ...DEFAULT_POLICY, maxLifetimeMs: 60_000 };
    const row = { id: "e", state: "PENDING", queue: "READY", ...job, ...keys, ...times, ...counts, policy } as const;
    const ends = { reason: "LIFETIME_ENDS" as const, endsAt: 60_000, maxLifetimeSec: 60 };
    const letters: Letter[] = [
      { role: "scheduler", message: { kind: "HINT", rows: [{ row, payload: null }] } },
      { role: "api", message: { kind: "EXPLAINED", request: "r", reasons: [ends] } },
    ];
    assert.deepEqual(arrived(...letters), { letters, strange: 0 });
  });

  it("carries that a worker has no free slot, and is left as strange where a reason is not known", () => {
    const explained = (reason: object): Letter => {
      return { role: "api", message: { kind: "EXPLAINED", request: "r", reasons: [reason as never] } };
    };
    const known = explained({ reason: "WORKER_HAS_NO_FREE_SLOT", workerId: "w", stuck: 1 });
    const newer = explained({ reason: "NOT_INVENTED_YET" });
    assert.deepEqual(arrived(known, newer), { letters: [known], strange: 1 });
  });
});
