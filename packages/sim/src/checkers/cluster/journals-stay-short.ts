import type { Epoch, EpochMs, ShardId } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";

/** Longest life of a journal row, in milliseconds: 30 s of waiting at a worker, and some seconds to write the own rows. */
const BOUND_MS = 40_000;

/**
 * No journal row stays open for long: executions whose attempts run or wait get their own rows. The checker judges
 * while no fault is active.
 */
export function journalsStayShort(quiet: Quiet): Checker {
  const openedAt = new Map<string, EpochMs>();
  const nameOf = (shard: ShardId, { epoch, seq }: { epoch: Epoch; seq: number }) => `${shard}/${epoch}/${seq}`;
  return {
    name: "journals stay short",
    saw(event) {
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const { shard, epoch, journalSeq, assigned, settledJournals } = event.asked;
      for (const ref of settledJournals) openedAt.delete(nameOf(shard, ref));
      if (assigned.length > 0) openedAt.set(nameOf(shard, { epoch, seq: journalSeq }), event.at);
    },
    looked(nowMs) {
      for (const [name, at] of openedAt) {
        const ageMs = nowMs - Math.max(at - EPOCH_MS, quiet.sinceMs);
        if (ageMs > BOUND_MS) throw new Violation(`the journal row ${name} has been open for ${Math.round(ageMs)} ms`);
      }
    },
  };
}
