import type { EpochMs, Incarnation } from "../../domain/ids.ts";
import type { Assigned, Entry } from "../entry.ts";
import type { Step } from "../state.ts";

/**
 * Attempts whose worker is sought: another owner had assigned them, or their gateway is gone. The owner asks every living
 * gateway once a second. The worker's own answer settles what it holds; a worker that no living gateway has is lost once it
 * had the time to connect again.
 */
export interface Search {
  readonly entries: Set<Entry>;
  /** Time of the last question that each gateway has answered with ABSENT. */
  readonly absentAt: Map<Incarnation, EpochMs>;
}

/** The attempt has ended, or its worker was found. */
export function endSearch(step: Step, entry: Entry, assigned: Assigned): void {
  const { adopting } = step.state;
  const search = adopting.get(assigned.workerId);
  assigned.soughtSince = null;
  if (search === undefined) return;
  search.entries.delete(entry);
  if (search.entries.size === 0) adopting.delete(assigned.workerId);
}
