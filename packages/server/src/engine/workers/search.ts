import type { EpochMs, Incarnation } from "../../domain/ids.ts";
import type { Assigned, Entry } from "../entry.ts";
import type { Step } from "../state.ts";

/**
 * A search for the worker of some attempts: another owner assigned them, or their gateway is gone. The owner asks every
 * living gateway once a second. The worker's own answer tells which attempts it holds. A worker that no living gateway
 * has is lost after it had the time to connect again.
 */
export interface Search {
  readonly entries: Set<Entry>;
  /** Number of the worker's last connection that the owner knows, counted over all gateways; 0: none. */
  connection: number;
  /** Time of the last question that each gateway has answered with ABSENT. */
  readonly absentAt: Map<Incarnation, EpochMs>;
}

/** Ends the search for one attempt, which has ended or whose worker was found. */
export function endSearch(step: Step, entry: Entry, assigned: Assigned): void {
  const { adopting } = step.state;
  const search = adopting.get(assigned.workerId);
  assigned.soughtSince = null;
  if (search === undefined) return;
  search.entries.delete(entry);
  if (search.entries.size === 0) adopting.delete(assigned.workerId);
}
