import { eventId } from "@mainspring/server/testing";
import { EPOCH_MS } from "../sim-process.ts";
import { type Checker, Violation } from "./checker.ts";

/** Time in ms in which an event reaches its sink once faults have ended. */
const LATE_MS = 20_000;

/**
 * A sink gets every event that a commit has kept, at least once and with what was kept. Without repeats, the rows of a shard
 * come in their order.
 * @param hasSink whether the world has a sink
 */
export function sinksGetEveryEvent(hasSink: boolean): Checker {
  /** Rows that the sink does not have, with the time of their commits. */
  const missing = new Map<string, number>();
  const kept = new Map<string, string>();
  const taken = new Set<string>();
  const last = new Map<number, { epoch: number; seq: number }>();
  let nowMs = 0;
  return {
    name: "sinks get every event",
    saw(event) {
      if (!hasSink) return;
      // Rows from after the copy are gone, and the checker does not know which rows the copy has.
      if (event.kind === "WENT_BACK") missing.clear();
      if (event.kind !== "COMMITTED" || event.events.length === 0) return;
      const { shard, epoch, told } = event.asked;
      const key = `${shard}/${epoch}/${told?.seq}`;
      kept.set(key, event.events.map(eventId).join());
      missing.set(key, event.at - EPOCH_MS);
    },
    noticed(event) {
      if (event.kind !== "SINK_TOOK") return;
      for (const { shard, epoch, seq, ids } of event.rows) {
        const key = `${shard}/${epoch}/${seq}`;
        if (kept.get(key) !== ids.join()) throw new Violation(`the sink got ${ids.join()} as row ${key}`);
        missing.delete(key);
        if (taken.has(key)) continue;
        taken.add(key);
        const before = last.get(shard) ?? { epoch: 0, seq: 0 };
        const isBehind = epoch > before.epoch || (epoch === before.epoch && seq > before.seq);
        if (!isBehind) throw new Violation(`the sink got row ${key} after ${before.epoch}/${before.seq}`);
        last.set(shard, { epoch, seq });
      }
    },
    looked(atMs) {
      nowMs = atMs;
    },
    atEnd() {
      for (const [key, atMs] of missing) {
        if (atMs < nowMs - LATE_MS) throw new Violation(`the sink never got row ${key}: ${kept.get(key)}`);
      }
    },
  };
}
