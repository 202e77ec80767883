import type { WorkClass } from "../queue/lanes.ts";
import { type MachineState, poolOf } from "../state.ts";
import type { Contender } from "./contender.ts";

/**
 * Whether the slots that are free now are the headroom of the pool, and kept for tenants with fewer attempts. No attempt gives its slot back
 * before its end, so without headroom a tenant with few attempts waits for the end of an attempt of others. Each owner keeps a part of the
 * slots that it has. The tenants that have attempts may use the headroom alike, and each of them may have one attempt.
 * @param more slots that the owner would have beside those that it has
 */
export function isKeptFrom({ share }: Contender, work: WorkClass, state: MachineState, more = 0): boolean {
  const { headroom } = poolOf(state, work.pool);
  if (headroom === 0 || share === null || !state.shares.hasSeveral) return false;
  let free = more;
  for (const group of work.groups) free += group.slots;
  const { running, active } = share.pool;
  const kept = Math.floor(((running + free) * headroom) / 100);
  return kept > 0 && free <= kept && share.running >= Math.max(1, kept / active);
}
