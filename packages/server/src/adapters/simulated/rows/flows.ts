import type { Candidate } from "../../../domain/execution.ts";
import { type Flow, flowName } from "../../../domain/flow.ts";
import type { EpochMs, ShardId } from "../../../domain/ids.ts";
import { compareDue, type DueCursor, type FlowPage } from "../../../ports/store-flows.ts";
import type { Recurrence } from "../../../ports/store-recurrences.ts";
import { byText } from "../sorted-list.ts";
import type { StoreData } from "../store-data.ts";
import { candidateOf, type ExecutionRow } from "./execution-row.ts";
import type { PlanRow } from "./plan-table.ts";
import { recurrenceOf } from "./recurrences.ts";

/** See Store.waitingFlows. */
export function waitingFlows(data: StoreData, dueUntil: EpochMs, after: Flow | null, limit: number): Flow[] {
  return flowsOf(data.executions.waiting(null, dueUntil, Number.POSITIVE_INFINITY).map(flowOfRow), after, limit);
}

/** See Store.readFlows. */
export function readFlows(
  data: StoreData,
  shards: readonly ShardId[],
  dueUntil: EpochMs,
  pages: readonly FlowPage[],
  limit: number,
): Candidate[][] {
  const rows = data.executions.waiting(new Set(shards), dueUntil, Number.POSITIVE_INFINITY);
  const found = pagesOf(rows, pages, limit, { flowOf: flowOfRow, cursorOf: ({ dueAt, id }) => ({ dueAt, id }) });
  return found.map((page) => page.map(candidateOf));
}

/** See StoreRecurrences.dueFlows. */
export function dueFlows(data: StoreData, until: EpochMs, after: Flow | null, limit: number): Flow[] {
  return flowsOf(
    duePlans(data, null, until).map((row) => flowOfPlan(data, row)),
    after,
    limit,
  );
}

/** See StoreRecurrences.readDueFlows. */
export function readDueFlows(
  data: StoreData,
  shards: readonly ShardId[],
  until: EpochMs,
  pages: readonly FlowPage[],
  limit: number,
): Recurrence[][] {
  const cursorOf = ({ jobId, plan }: PlanRow) => ({ dueAt: plan.nextFireAt as EpochMs, id: jobId });
  const flowOf = (row: PlanRow) => flowOfPlan(data, row);
  const found = pagesOf(duePlans(data, new Set(shards), until), pages, limit, { flowOf, cursorOf });
  return found.map((page) => page.map((row) => recurrenceOf(data, row)));
}

function duePlans(data: StoreData, shards: ReadonlySet<ShardId> | null, until: EpochMs): PlanRow[] {
  const found: PlanRow[] = [];
  data.plans.due(until, (row) => {
    if (shards === null || shards.has(row.shard)) found.push(row);
    return true;
  });
  return found;
}

/** Distinct flows behind `after`, in the order of their names. */
function flowsOf(flows: readonly Flow[], after: Flow | null, limit: number): Flow[] {
  const byName = new Map(flows.map((flow) => [flowName(flow), flow]));
  const names = [...byName.keys()].filter((name) => after === null || name > flowName(after)).sort(byText);
  return names.slice(0, limit).map((name) => byName.get(name) as Flow);
}

/** @param rows in the order of their cursors */
function pagesOf<Row>(
  rows: readonly Row[],
  pages: readonly FlowPage[],
  limit: number,
  { flowOf, cursorOf }: { flowOf: (row: Row) => Flow; cursorOf: (row: Row) => DueCursor },
): Row[][] {
  const found = new Map(pages.map(({ flow, after }) => [flowName(flow), { after, rows: [] as Row[] }]));
  for (const row of rows) {
    const page = found.get(flowName(flowOf(row)));
    if (page === undefined || page.rows.length >= limit) continue;
    if (page.after === null || compareDue(cursorOf(row), page.after) > 0) page.rows.push(row);
  }
  return pages.map(({ flow }) => found.get(flowName(flow))?.rows ?? []);
}

function flowOfRow({ job }: ExecutionRow): Flow {
  return { tenant: job.tenant, pool: job.definition.pool };
}

function flowOfPlan(data: StoreData, { jobId }: PlanRow): Flow {
  const job = data.jobs.get(jobId)?.job;
  return { tenant: job?.tenant ?? "", pool: job?.definition.pool ?? "" };
}
