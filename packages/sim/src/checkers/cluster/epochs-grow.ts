import type { Epoch, Incarnation, ShardId } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";

/** Epochs grow, and no commit of an older epoch or of another node takes effect. */
export function epochsGrow(): Checker {
  const owners = new Map<ShardId, { epoch: Epoch; owner: Incarnation | null }>();
  /**
   * Highest epoch of each shard. Takeovers that a restored store lost count too, because a node may still hold such an
   * epoch.
   */
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
      // The former owner knows a store that no longer exists, and must take the shard over again.
      if (event.kind === "WENT_BACK")
        for (const { shard, epoch } of event.holders) owners.set(shard, { epoch, owner: null });
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      const { shard, epoch } = event.asked;
      const current = owners.get(shard);
      if (current?.epoch !== epoch || current.owner !== event.by) {
        throw new Violation(`shard ${shard} took a commit of epoch ${epoch} while ${current?.epoch} was current`);
      }
    },
  };
}
