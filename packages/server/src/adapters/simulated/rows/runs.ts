import { isFinal, RUN_NODE } from "../../../domain/execution.ts";
import type { ExecutionId, ShardId } from "../../../domain/ids.ts";
import type { KeptNodes } from "../../../domain/workflow/kept-nodes.ts";
import type { ItemStates, MapCount } from "../../../domain/workflow/map-counts.ts";
import type { DueCursor } from "../../../ports/store-flows.ts";
import type { Listing, Page } from "../../../ports/store-queries.ts";
import type {
  Ends,
  KeyedRun,
  LoadedRun,
  NodeExecution,
  NodeFilter,
  NodeSummary,
  OriginOfRun,
  RunFilter,
  RunSummary,
  RunView,
  StoredPart,
  StoreRuns,
} from "../../../ports/store-runs.ts";
import { byText } from "../sorted-list.ts";
import type { StoreData } from "../store-data.ts";
import { candidateOf, type ExecutionRow, isChildRun } from "./execution-row.ts";
import { graphOfRun } from "./insert-workflow.ts";
import { listing, ofRun, summary } from "./queries.ts";

/** Largest number of retries that a run names. */
const RETRIES = 20;

type IsKnown = Parameters<StoreRuns["load"]>[1];

/** See StoreRuns.load. */
export function load(data: StoreData, ids: readonly ExecutionId[], isKnown?: IsKnown): LoadedRun[] {
  return ids.flatMap((id): LoadedRun[] => {
    const [row, run] = [data.executions.get(id), data.runs.get(id)];
    if (row === undefined || row.queue === "NONE" || run === undefined) return [];
    const graph = graphOfRun(data, row);
    if (graph === undefined) return [];
    const { graph: bytes, definitions, output } = graph;
    const workflow = run.workflow ?? row.job.jobId;
    const stored = isKnown?.(workflow, row.jobVersion) ? null : { graph: bytes, definitions, output };
    const rows = nodesOf(data, id);
    const executions = rows.filter(({ item, queue }) => item === null || queue !== "NONE").map(nodeOf);
    const items = itemsOf(rows).filter(({ state }) => isFinal(state));
    const { mode, paused, outcome, revision, kept, mapCounts } = run;
    return [
      {
        ...{ row: candidateOf(row), mode, paused, outcome, revision, kept, mapCounts },
        ...{ workflow, stored, executions, items },
        parts: partsOf(data, id),
        signalled: data.signals.signalled(id),
      },
    ];
  });
}

function partsOf(data: StoreData, run: ExecutionId): StoredPart[] {
  return data.runs.partsOf(run).map(({ run: _run, payloads: _payloads, ...part }) => part);
}

/** See StoreRuns.items. */
export function items(data: StoreData, runs: readonly ExecutionId[]): Map<ExecutionId, ItemStates[]> {
  const found = runs.map((id) => [id, itemsOf(nodesOf(data, id))] as const);
  return new Map(found.filter(([, states]) => states.length > 0));
}

function itemsOf(rows: readonly ExecutionRow[]): ItemStates[] {
  const found = new Map<string, { node: number; state: ExecutionRow["state"]; items: number[] }>();
  for (const { node, item, state } of rows) {
    if (item === null || node === null) continue;
    const key = `${node} ${state}`;
    const states = found.get(key) ?? { node, state, items: [] };
    states.items.push(item);
    found.set(key, states);
  }
  return Array.from(found.values(), (states) => ({ ...states, items: Uint32Array.from(states.items) }));
}

/** See StoreRuns.results. */
export function results(data: StoreData, ids: readonly ExecutionId[]): Map<ExecutionId, Uint8Array | null> {
  const found = new Map<ExecutionId, Uint8Array | null>();
  for (const id of ids) {
    const row = data.executions.get(id);
    if (row?.state === "SUCCEEDED") found.set(id, row.result);
  }
  return found;
}

/** See StoreRuns.kept. */
export function kept(data: StoreData, runs: readonly ExecutionId[]): Map<ExecutionId, readonly KeptNodes[]> {
  const found = runs.map((id) => [id, data.runs.get(id)?.kept ?? []] as const);
  return new Map(found.filter(([, nodes]) => nodes.length > 0));
}

/** See StoreRuns.mapCounts. */
export function mapCounts(data: StoreData, runs: readonly ExecutionId[]): Map<ExecutionId, readonly MapCount[]> {
  const found = runs.map((id) => [id, data.runs.get(id)?.mapCounts ?? []] as const);
  return new Map(found.filter(([, counts]) => counts.length > 0));
}

/** See StoreRuns.ends. */
export function ends(data: StoreData, ids: readonly ExecutionId[], bytes: number): Ends {
  const byId = new Map<ExecutionId, { state: ExecutionRow["state"]; result: Uint8Array | null }>();
  let read = 0;
  for (const [place, id] of ids.entries()) {
    const row = data.executions.get(id);
    if (row === undefined) continue;
    byId.set(id, { state: row.state, result: row.result });
    read += row.result?.length ?? 0;
    if (read >= bytes) return { byId, looked: place + 1 };
  }
  return { byId, looked: ids.length };
}

/** See StoreRuns.openRuns. */
export function openRuns(data: StoreData, shards: readonly ShardId[], after: DueCursor | null, limit: number) {
  return data.executions.open(new Set(shards), after, limit).map(({ dueAt, id }): DueCursor => ({ dueAt, id }));
}

/** Every open run of the shards that has a concurrency key. */
export function keyedRuns(data: StoreData, shards: readonly ShardId[]): KeyedRun[] {
  const rows = data.executions.open(new Set(shards), null, Number.POSITIVE_INFINITY).map(candidateOf);
  return rows.flatMap(({ id, shard, tenant, concurrencyKey, concurrencyLimit }) =>
    concurrencyKey === null ? [] : [{ id, shard, tenant, concurrencyKey, concurrencyLimit }],
  );
}

/** See StoreQueries.listRuns. */
export function listRuns(data: StoreData, tenant: string, filter: RunFilter, page: Page): Listing<RunSummary> {
  const { state, name, parent, since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY } = filter;
  const rows: ExecutionRow[] = [];
  data.executions.newestFirst(page.after, (row) => {
    const { createdAt, definition } = row.job;
    const isAsked =
      isRunOf(row, tenant, parent) &&
      (state === undefined || row.state === state) &&
      (name === undefined || definition.name === name);
    if (isAsked && createdAt >= since && createdAt < until) rows.push(row);
    return rows.length <= page.limit;
  });
  return listing(
    rows.map((row) => runSummary(data, row)),
    page.limit,
    (item) => item.executionId,
  );
}

/** See StoreQueries.getRun. */
export function getRun(data: StoreData, tenant: string, id: ExecutionId): RunView | null {
  const [row, run] = [data.executions.get(id), data.runs.get(id)];
  if (row === undefined || run === undefined || row.job.tenant !== tenant) return null;
  const graph = graphOfRun(data, row);
  if (graph === undefined) return null;
  const counts: RunView["counts"] = {};
  for (const { state } of nodesOf(data, id)) counts[state] = (counts[state] ?? 0) + 1;
  return {
    ...runSummary(data, row),
    revision: run.revision,
    ...{ workflow: run.workflow ?? row.job.jobId, graph: graph.graph, definitions: graph.definitions },
    payload: row.job.payload,
    ...{ result: row.result, error: row.error, counts, kept: run.kept },
    mapCounts: run.mapCounts,
    parts: partsOf(data, id),
    retriedBy: data.runs.retriesOf(id).slice(0, RETRIES),
  };
}

/** See StoreQueries.listNodes. */
export function listNodes(
  data: StoreData,
  tenant: string,
  run: ExecutionId,
  { state, node, withoutItems = false }: NodeFilter,
  { after, limit }: Page,
): Listing<NodeSummary> {
  const rows = nodesOf(data, run).filter(
    (row) =>
      row.job.tenant === tenant &&
      (state === undefined || row.state === state) &&
      (node === undefined || row.node === node) &&
      (!withoutItems || row.item === null),
  );
  const last = after === null ? undefined : data.executions.get(after);
  const rest = last === undefined ? rows : rows.filter((row) => byPlace(row, last) > 0);
  const items = rest.map((row): NodeSummary => ({ ...summary(row), ofRun: ofRun(row), error: row.error }));
  return listing(items.slice(0, limit + 1), limit, (item) => item.executionId);
}

/** See StoreRuns.origins. */
export function origins(data: StoreData, runs: readonly ExecutionId[]): Map<ExecutionId, OriginOfRun> {
  const rows = runs.flatMap((id) => data.executions.get(id) ?? []);
  return new Map(rows.flatMap((row) => (isChildRun(row) ? [[row.id, originOf(row)] as const] : [])));
}

function originOf(row: ExecutionRow): OriginOfRun {
  const { run, node, item } = ofRun(row);
  return { run, node, item };
}

/** @param parent run whose sub-workflows are asked for; undefined: runs of jobs */
function isRunOf(row: ExecutionRow, tenant: string, parent: ExecutionId | undefined): boolean {
  const isAsked = parent === undefined ? row.node === RUN_NODE : row.job.jobId === parent && isChildRun(row);
  return isAsked && row.job.tenant === tenant;
}

function runSummary(data: StoreData, row: ExecutionRow): RunSummary {
  const { definition } = row.job;
  const nodes = graphOfRun(data, row)?.nodes ?? 0;
  const { mode = "RUNNING", paused = false, outcome = null } = data.runs.get(row.id) ?? {};
  const parent = isChildRun(row) ? originOf(row) : null;
  return { ...summary(row), name: definition.name, labels: definition.labels, nodes, mode, paused, outcome, parent };
}

function nodeOf({ id, node, item, state, branch, queue }: ExecutionRow): NodeExecution {
  return { id, node: node ?? 0, item, state, branch, isParked: queue === "PARKED" };
}

/** Rows of a run's nodes, in the order of lists. */
function nodesOf(data: StoreData, run: ExecutionId): ExecutionRow[] {
  return data.executions
    .ofJob(run)
    .map((id) => data.executions.get(id) as ExecutionRow)
    .sort(byPlace);
}

function byPlace(a: ExecutionRow, b: ExecutionRow): number {
  return (a.node ?? 0) - (b.node ?? 0) || (a.item ?? -1) - (b.item ?? -1) || byText(a.id, b.id);
}
