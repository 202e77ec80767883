import type { Epoch, Incarnation, ShardId } from "@mainspring/server/testing";
import { type Checker, Violation } from "./checker.ts";

/** DESIGN 9.8: epochs grow, and nothing of an older epoch or of another node is committed. */
export function epochsGrow(): Checker {
  const owners = new Map<ShardId, { epoch: Epoch; owner: Incarnation | null }>();
  /** Also of takeovers that a store has lost which went back: a node may still hold them. */
  const highest = new Map<ShardId, Epoch>();
  return {
    name: "epochs grow",
    saw(event) {
      if (event.kind === "TAKEN_OVER") {
        for (const { shard, epoch } of event.shards) {
          const before = highest.get(shard) ?? 0;
          if (epoch <= before) throw new Violation(`shard ${shard} went from epoch ${before} to ${epoch}`);
          highest.set(shard, epoch);
          owners.set(shard, { epoch, owner: event.owner });
        }
      }
      if (event.kind === "WENT_BACK")
        for (const { shard, epoch, owner } of event.holders) owners.set(shard, { epoch, owner });
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const { shard, epoch } = event.asked;
      const current = owners.get(shard);
      if (current?.epoch !== epoch || current.owner !== event.by) {
        throw new Violation(`shard ${shard} took a commit of epoch ${epoch} while ${current?.epoch} was current`);
      }
    },
  };
}
