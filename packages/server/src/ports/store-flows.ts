import type { Candidate } from "../domain/execution.ts";
import type { Flow } from "../domain/flow.ts";
import type { EpochMs, ShardId } from "../domain/ids.ts";

/** Reads of waiting executions by turns of flows. Reads of recurring jobs by turns are in `StoreRecurrences`. */
export interface StoreFlows {
  /**
   * Flows that have WAITING rows of any shard with `dueAt` up to `dueUntil`: in an order of the store, behind `after`. The cost depends on
   * the number of flows, not of rows.
   * @param limit 1 to 10_000
   * @returns null: the store cannot tell yet, because it is building the index for it
   */
  waitingFlows(dueUntil: EpochMs, after: Flow | null, limit: number): Promise<Flow[] | null>;
  /**
   * WAITING rows of flows with `dueAt` up to `dueUntil`, by (dueAt, id), behind `after`. Only where `waitingFlows` names flows.
   * @param limit rows of each flow, 1 to 10_000
   * @returns rows of each page, in the order of the pages
   */
  readFlows(
    shards: readonly ShardId[],
    dueUntil: EpochMs,
    pages: readonly FlowPage[],
    limit: number,
  ): Promise<Candidate[][]>;
}

/** Position among the rows of a flow that are due: of executions their due time and id, of plans their next instant and job. */
export interface DueCursor {
  dueAt: EpochMs;
  id: string;
}

/** Compares positions, for sorting. */
export function compareDue(a: DueCursor, b: DueCursor): number {
  if (a.dueAt !== b.dueAt) return a.dueAt - b.dueAt;
  return a.id < b.id ? -1 : Number(a.id > b.id);
}

/** Rows of a flow to read. */
export interface FlowPage {
  flow: Flow;
  /** Position behind which the page begins; null: with the first row. */
  after: DueCursor | null;
}
