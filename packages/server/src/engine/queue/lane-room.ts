import type { Step } from "../state.ts";
import type { Lane } from "./lanes.ts";

/** Executions that a lane may keep in memory however many lanes there are. */
const ROOM_MIN = 16;

/**
 * Number of executions that a lane may keep in memory. Several tenants share the memory alike, whatever number of lanes each of them
 * has, and a tenant's lanes share what it has. A single tenant's lanes share nothing while memory has room.
 * @param lane null: a lane that is not in memory, of an unknown tenant
 */
export function laneRoom({ state }: Pick<Step, "state">, lane: Lane | null): number {
  const { lanes, entries } = state;
  const isFull = entries.size >= state.limits.entries;
  const most = isFull ? Math.ceil(state.limits.laneEntries / 10) : state.limits.laneEntries;
  const { tenants } = lanes;
  if (tenants.size < 2 && !isFull) return most;
  const [parts, count] = lane === null ? [1, lanes.size + 1] : [tenants.size, tenants.get(lane.tenant) ?? 1];
  const room = Math.floor(state.limits.entries / parts / count);
  return Math.min(most, Math.max(ROOM_MIN, room));
}
