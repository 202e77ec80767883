import type { ShardId } from "../../domain/ids.ts";
import type { Step } from "../state.ts";

/** Forgets the recurring jobs of shards that are another's now, and what was asked of them. */
export function letGoPlans({ state }: Step, shards: ReadonlySet<ShardId>): void {
  const { plans, openCommands } = state;
  for (const planned of [...plans.byId.values()]) {
    if (!shards.has(planned.shard)) continue;
    plans.drop(planned);
    for (const id of planned.open) {
      plans.unborn.delete(id);
      plans.superseding.delete(id);
    }
  }
  for (const [jobId, orders] of plans.orders) {
    if (!orders.some(({ command }) => shards.has(command.shard))) continue;
    for (const { command } of orders) openCommands.delete(command.id);
    plans.orders.delete(jobId);
  }
}
