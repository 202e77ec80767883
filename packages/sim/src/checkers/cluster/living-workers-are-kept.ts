import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Ledger } from "../recurring/ledger.ts";
import type { WorkerTracker } from "./worker-tracker.ts";

/**
 * Time without faults after which a worker cannot be regarded as dead, in milliseconds: longer than any message is on
 * its way.
 */
const WELL_MS = 6_000;

/** Least time that a worker has to reconnect under a new owner if no gateway has the worker, in milliseconds. */
const COME_BACK_MS = 4_500;
/** The same under an owner that has only taken over its own shards again, and knows how long it has waited. */
const ANSWER_MS = 4_500;
/** Ownership of a shard: since when without a break, and the time of the last takeover. */
interface Owner {
  name: string;
  sinceMs: number;
  againMs: number;
}

/** Longest time of a commit that assigns, in milliseconds; its worker may be lost meanwhile. */
const UNDER_WAY_MS = 20_000;

/**
 * No worker is declared lost that was connected, not paused, and answering: neither by its gateway nor by an owner in
 * the store. A stall of the process that decides is no excuse. No owner gives up a worker without the word of a gateway
 * before the worker had its time to reconnect to the node that owns the shard.
 */
export function livingWorkersAreKept(ledger: Ledger, tracker: WorkerTracker): Checker {
  const owners = new Map<number, Owner>();
  const declaredMs = new Map<string, number>();
  const judgeOwner = (worker: string, shard: number, assignedMs: number, atMs: number) => {
    const declared = (declaredMs.get(worker) ?? Number.NEGATIVE_INFINITY) >= assignedMs - UNDER_WAY_MS;
    const { sinceMs, againMs } = owners.get(shard) ?? { sinceMs: 0, againMs: 0 };
    const againForMs = atMs - againMs;
    if (declared || (atMs - sinceMs >= COME_BACK_MS && againForMs >= ANSWER_MS)) return;
    throw new Violation(`${worker} was given up ${Math.round(againForMs)} ms after shard ${shard} was taken over`);
  };
  const judge = (worker: string, atMs: number, what: string) => {
    const attendance = tracker.get(worker);
    if (attendance === undefined || attendance.server === null) return;
    const wellForMs = atMs - attendance.wellSinceMs;
    if (wellForMs < WELL_MS) return;
    throw new Violation(`${worker} ${what}; it had been well for ${Math.round(wellForMs / 1_000)} s`);
  };
  /** Time until which messages between servers may have been blocked for long, or a gateway may not have answered. */
  let cutUntilMs = 0;
  return {
    name: "living workers are kept",
    noticed(event) {
      if (event.kind === "FAULT" && ["NETWORK_CUT", "SERVER_PAUSED"].includes(event.fault)) {
        cutUntilMs = Math.max(cutUntilMs, event.atMs + (event.forMs ?? 0) + WELL_MS);
      }
      if (event.kind !== "DECLARED_LOST") return;
      declaredMs.set(event.worker, event.atMs);
      // Another gateway may not know where the worker is now; its message is about a connection that is over.
      if (tracker.get(event.worker)?.server !== event.server) return;
      judge(event.worker, event.atMs, `was declared lost by ${event.server}: ${event.reason}`);
    },
    saw(event) {
      if (event.kind === "TAKEN_OVER") {
        for (const { shard } of event.shards) {
          const [before, againMs] = [owners.get(shard), event.at - EPOCH_MS];
          const sinceMs = before?.name === event.owner ? before.sinceMs : againMs;
          owners.set(shard, { name: event.owner, sinceMs, againMs });
        }
      }
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const { before, after } of event.applied) {
        const [last] = after.attempts.slice(before.attempts.length);
        if (last?.state !== "WORKER_LOST") continue;
        // An owner that hears nothing of a gateway for long gives its workers up.
        if (last.finishedAt - EPOCH_MS < cutUntilMs) continue;
        // Time of the owner's decision, which may be long before the store received it.
        const decidedMs = last.finishedAt - EPOCH_MS;
        const assignedMs = (ledger.get(after.id)?.assigned.get(last.attempt)?.at ?? 0) - EPOCH_MS;
        judge(last.workerId, decidedMs, `lost attempt ${last.attempt} of ${after.id}`);
        judgeOwner(last.workerId, after.job.shard, assignedMs, decidedMs);
      }
    },
  };
}
