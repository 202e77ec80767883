import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";
import type { Ledger } from "./ledger.ts";
import type { Roll } from "./roll.ts";

/** A worker that has been well for so long cannot be taken for dead: longer than any message is on its way. */
const WELL_MS = 6_000;

/** Least time that a worker has to come back to a new owner where no gateway has it, */
const COME_BACK_MS = 4_500;
/** and to one that has only taken over again what it had, and knows since when it waits. */
const ANSWER_MS = 4_500;
/** Ownership of a shard: since when without a break, and when it took the shard over last. */
interface Owner {
  name: string;
  sinceMs: number;
  againMs: number;
}

/** A commit that assigns may take so long; its worker may be lost meanwhile. */
const UNDER_WAY_MS = 20_000;

/**
 * No worker is declared lost that was connected, not paused, and answering: neither by its gateway nor by an
 * owner in the store's word. That the judge itself was held up is no excuse. And nobody is given up without the word of a
 * gateway before it had its time to come back to the node that owns the shard.
 */
export function livingWorkersAreKept(ledger: Ledger, roll: Roll): Checker {
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
    const attendance = roll.get(worker);
    if (attendance === undefined || attendance.server === null) return;
    const wellForMs = atMs - attendance.wellSinceMs;
    if (wellForMs < WELL_MS) return;
    throw new Violation(`${worker} ${what}; it had been well for ${Math.round(wellForMs / 1_000)} s`);
  };
  /** Until when messages between servers may not have come through for long, or a gateway may not have answered. */
  let cutUntilMs = 0;
  return {
    name: "living workers are kept",
    noticed(moment) {
      if (moment.kind === "FAULT" && ["NETWORK_CUT", "SERVER_PAUSED"].includes(moment.fault)) {
        cutUntilMs = Math.max(cutUntilMs, moment.atMs + (moment.forMs ?? 0) + WELL_MS);
      }
      if (moment.kind !== "DECLARED_LOST") return;
      declaredMs.set(moment.worker, moment.atMs);
      // Another gateway may not know where it is now; what it says is of a connection that is over.
      if (roll.get(moment.worker)?.server !== moment.server) return;
      judge(moment.worker, moment.atMs, `was declared lost by ${moment.server}: ${moment.reason}`);
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
        // When the owner decided it, which may be long before the store heard of it.
        const decidedMs = last.finishedAt - EPOCH_MS;
        const assignedMs = (ledger.get(after.id)?.assigned.get(last.attempt)?.at ?? 0) - EPOCH_MS;
        judge(last.workerId, decidedMs, `lost attempt ${last.attempt} of ${after.id}`);
        judgeOwner(last.workerId, after.job.shard, assignedMs, decidedMs);
      }
    },
  };
}
