import {
  type ExecutionRow,
  isCompensation,
  itemsOfRanges,
  type NewPart,
  type RunRow,
  type StoreEvent,
  type WorkflowNode,
} from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { addedRows, isChildRun, isOver, isRun } from "../recurring/ledger.ts";
import { blanks, type Mode, type NodeRow } from "./graph-oracle.ts";
import { MapAccount } from "./map-account.ts";
import { heldBy, PartAccount, type SpawnedNode } from "./part-account.ts";
import { UntoldEnds } from "./untold-ends.ts";

/** Time for reads, commits and messages that follow from the end of a node, in milliseconds. */
const BOUND_MS = 30_000;

export interface Graph {
  nodes: readonly WorkflowNode[];
  onFailure: "FAIL_FAST" | "CONTINUE";
  /** Whether a run that was cancelled is compensated, too; left out: it is not. */
  compensatesOnCancel?: boolean;
  /** References of nodes and of the output; left out: the workflow has none. */
  references?: References;
  /** Nodes that handlers add, by the name of their own node; left out: none does. */
  spawns?: ReadonlyMap<string, readonly SpawnedNode[]>;
  /** Sub-workflows by number of the node; left out: there are none. */
  nested?: ReadonlyMap<number, Graph>;
}

/** A reference as a client writes it. */
export type Reference =
  | NodeReference
  | { $results: string }
  | { $item: true; path?: readonly (string | number)[] }
  | { $index: true };

export interface NodeReference {
  $from: string;
  path?: readonly (string | number)[];
}

export interface References {
  input: unknown;
  /** References in the payload of each node, by its number. */
  ofNodes: readonly (readonly Reference[])[];
  /** The same of compensations; left out: there are none. */
  ofCompensations?: readonly (readonly Reference[])[];
  output: readonly Reference[];
}

interface RunAccount {
  graph: Graph;
  row: ExecutionRow;
  mode: string;
  /** State that the run will have when its nodes are compensated; null: they are not. */
  outcome: string | null;
  /** Modes of the run before, during and after the newest commit that changed its row, and that commit. */
  changed: { modes: readonly string[]; in: StoreEvent } | null;
  paused: boolean;
  /** Executions of nodes by name. A node that a retry keeps has the execution of the earlier run. */
  rows: Map<string, ExecutionRow>;
  /** Executions of compensations by id. */
  undoing: Map<string, ExecutionRow>;
  maps: MapAccount;
  parts: PartAccount;
  /** Simulated time since which no node is live; null: one is. */
  idleSinceMs: number | null;
}

/**
 * A run that waits is opened once, with its first nodes. The run of a sub-workflow is the execution of its node, so a node
 * that is created once has one run, which ends as the node does; it is judged like every other run.
 * A node is created once, and only when its parents have ended as its edges want; a run ends only when nothing of it is
 * live or may start, and then as its nodes say. An open run whose nodes have all ended goes on or ends soon, unless it is
 * paused. A retry keeps only nodes that have SUCCEEDED and that do not follow from a node that runs again, and creates none
 * of them.
 * @param graphs workflows by the id of their job
 */
export function graphsComeOutRight(graphs: () => ReadonlyMap<string, Graph>, quiet: Quiet): Checker {
  const runs = new Map<string, RunAccount>();
  const graphOf = (row: ExecutionRow) =>
    isChildRun(row) ? runs.get(row.job.jobId)?.graph.nested?.get(row.node ?? -1) : graphs().get(row.job.jobId);
  const begin = (row: ExecutionRow, mode: string, paused: boolean) => {
    const graph = graphOf(row);
    if (graph === undefined) return;
    runs.set(row.id, newAccount(graph, row, mode, paused));
  };
  const untold = new UntoldEnds((run) => runs.get(run)?.maps);
  /** Rows of retries that are not open yet. */
  const waiting = new Map<string, RunRow>();
  const keep = (row: RunRow) => {
    const run = runs.get(row.run);
    if (run === undefined) return void waiting.set(row.run, row);
    keepParts(run, row, runs);
    run.maps.takeOver(row.mapCounts, runs.get(row.retryOf ?? "")?.maps);
  };
  const opened = (event: Extract<StoreEvent, { kind: "COMMITTED" }>, before: ExecutionRow, after: ExecutionRow) => {
    if (runs.has(after.id)) throw new Violation(`the run ${after.id} was opened twice`);
    judgeOpening(before, after, event.nodes, hasMaps(graphOf(after)));
    begin(after, "RUNNING", false);
    const retry = waiting.get(after.id);
    if (retry !== undefined) keep(retry);
  };
  const put = (row: ExecutionRow) => {
    const run = runs.get(row.job.jobId);
    const name = run?.parts.nodeOf(row.node ?? -1)?.name;
    if (run === undefined) return;
    if (row.node !== null && isCompensation(row.node)) return void run.undoing.set(row.id, row);
    if (name === undefined) return;
    if (row.item === null) run.rows.set(name, row);
    else run.maps.put(row, null);
  };
  return {
    name: "graphs come out right",
    saw(event) {
      if (event.kind === "WENT_BACK") {
        runs.clear();
        waiting.clear();
        untold.clear();
        const runsById = new Map(event.runs.map((run) => [run.run, run]));
        for (const row of parentsFirst(event.rows)) {
          const { mode = "RUNNING", paused = false } = runsById.get(row.id) ?? {};
          if (isRun(row) && row.startedAt !== null) begin(row, mode, paused);
        }
        for (const part of event.parts) addPart(runs.get(part.run), part);
        for (const row of event.rows) put(row);
        for (const run of event.runs) keep(run);
        return;
      }
      if (event.kind === "SUBMITTED")
        for (const row of event.rows) if (row.queue === "OPEN") begin(row, "RUNNING", false);
      if (event.kind === "RUN_RETRIED") {
        for (const row of event.rows) if (row.queue === "OPEN") begin(row, "RUNNING", false);
        keep(event.run);
      }
      if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") {
        for (const { before, after } of event.applied) {
          if (isRun(after) && after.queue === "OPEN" && graphOf(after)) opened(event, before, after);
        }
        committed(event, runs, untold, put);
      }
      for (const row of addedRows(event)) created(event, row, runs, put);
    },
    looked(nowMs) {
      for (const run of runs.values()) judgeIdle(run, nowMs, quiet);
    },
  };
}

function newAccount(graph: Graph, row: ExecutionRow, mode: string, paused: boolean): RunAccount {
  const rows = new Map<string, ExecutionRow>();
  const maps = new MapAccount({ graph, rows });
  return {
    ...{ graph, row, mode, paused, outcome: null, changed: null, idleSinceMs: null },
    ...{ rows, maps, undoing: new Map(), parts: new PartAccount(graph) },
  };
}

/** The rows with those of runs before those of their nodes. */
function parentsFirst(rows: readonly ExecutionRow[]): ExecutionRow[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const levelOf = (row: ExecutionRow): number => {
    const run = (row.node ?? -1) < 0 ? undefined : byId.get(row.job.jobId);
    return run === undefined ? 0 : 1 + levelOf(run);
  };
  return [...rows].sort((a, b) => levelOf(a) - levelOf(b));
}

function hasMaps(graph: Graph | undefined): boolean {
  return graph?.nodes.some(({ map }) => map !== undefined) === true;
}

/** An open run of which nothing is live goes on or ends soon. */
function judgeIdle(run: RunAccount, nowMs: number, quiet: Quiet): void {
  const { row, paused } = run;
  const isIdle = !isOver(row.state) && !paused && executionsOf(run).every(({ state }) => isOver(state));
  run.idleSinceMs = isIdle ? (run.idleSinceMs ?? nowMs) : null;
  const sinceMs = Math.max(run.idleSinceMs ?? nowMs, quiet.butForBlocksSinceMs);
  if (nowMs - sinceMs > BOUND_MS) throw new Violation(`the run ${row.id} is open and nothing of it is live`);
}

/** Executions of nodes, items and compensations. */
function executionsOf({ rows, maps, undoing }: RunAccount): ExecutionRow[] {
  return [...rows.values(), ...maps.all(), ...undoing.values()];
}

/** Takes over what a retry keeps. */
function keepParts(run: RunAccount, row: RunRow, runs: ReadonlyMap<string, RunAccount>): void {
  const { kept, mode, outcome, retryOf } = row;
  const numbers = new Set(kept.flatMap(({ nodes }) => nodes.map(([node]) => node)));
  run.parts.keep(runs.get(retryOf ?? "")?.parts, numbers);
  run.graph = run.parts.graph;
  if (outcome !== null) Object.assign(run, { mode, outcome: outcome.state });
  let count = 0;
  for (const { run: base, nodes, items = [] } of kept) {
    for (const [node, branch] of nodes) {
      if (isCompensation(node)) continue;
      keepNode(run, runs.get(base), node, branch);
      count++;
    }
    for (const [node, ranges] of items) {
      for (const item of itemsOfRanges(ranges)) run.maps.keep(runs.get(base)?.maps, node, item);
    }
  }
  // A restored store may have nodes that the run created itself, which may follow from one of several parents. A run that
  // goes on with a compensation keeps every node that SUCCEEDED.
  if (outcome === null && count > 0 && run.rows.size === count) judgeKept(run);
}

/** @param base account of the run that has the execution */
function keepNode(run: RunAccount, base: RunAccount | undefined, node: number, branch: string | null): void {
  const name = run.parts.nodeOf(node)?.name ?? "";
  if (run.graph.nodes[node]?.map !== undefined) return keepMap(run, base, node, name);
  const row = base?.rows.get(name);
  if (base === undefined || row?.job.jobId !== base.row.id)
    throw new Violation(`${run.row.id} keeps ${name}, of which the earlier run has no execution`);
  if (row.state !== "SUCCEEDED" || row.branch !== branch)
    throw new Violation(`${run.row.id} keeps ${name} with the branch ${branch}, and it is ${row.state} ${row.branch}`);
  run.rows.set(name, row);
}

/** A map that is kept as a whole has SUCCEEDED in the earlier run, or in one from which that run keeps it. */
function keepMap(run: RunAccount, base: RunAccount | undefined, node: number, name: string): void {
  const state = base?.rows.get(name)?.state ?? base?.maps.stateOf(node, modeOf(base));
  if (state !== "SUCCEEDED") throw new Violation(`${run.row.id} keeps the map ${name}, which is ${state}`);
  run.rows.set(name, { ...run.row, id: `map ${name}`, state: "SUCCEEDED", branch: null });
}

/** A kept node follows from kept nodes, and from nodes that these skip. */
function judgeKept({ graph, row, rows }: RunAccount): void {
  const states = blanks(graph.nodes, rows, "RUNNING");
  const runsAgain = (name: string): boolean => {
    if (!rows.has(name) && states.get(name) !== "SKIPPED") return true;
    return heldBy(graph.nodes, name).some((held) => runsAgain(held.name));
  };
  for (const { name, dependsOn } of graph.nodes) {
    if (!rows.has(name)) continue;
    const open = dependsOn.find(({ node }) => runsAgain(node));
    if (open !== undefined) throw new Violation(`${row.id} keeps ${name}, although ${open.node} runs again`);
  }
}

function committed(
  event: Extract<StoreEvent, { kind: "COMMITTED" }>,
  runs: ReadonlyMap<string, RunAccount>,
  untold: UntoldEnds,
  put: (row: ExecutionRow) => void,
): void {
  const { asked, applied, outcome } = event;
  const missed = new Set(outcome.missedRuns);
  for (const { run, mode, paused, outcome, wasRevision, revision } of asked.runs) {
    const account = runs.get(run);
    if (account === undefined || missed.has(run)) continue;
    // A run that fails may be asked to end before the commit leaves. Nodes that wait for the failure exist then.
    const mayHaveFailed = account.mode === "RUNNING" && mode !== "RUNNING" && revision - wasRevision > 1;
    const between = mayHaveFailed ? ["FAILING"] : [];
    account.changed = { modes: [account.mode, ...between, mode], in: event };
    Object.assign(account, { mode, paused });
    if (outcome !== undefined) account.outcome = outcome.state;
  }
  judgeParts(event, runs);
  untold.committed(event);
  for (const { after } of applied) {
    put(after);
    if (after.item !== null) runs.get(after.job.jobId)?.maps.put(after, event);
  }
  for (const { run, mapCounts = [] } of asked.runs) {
    const account = missed.has(run) ? undefined : runs.get(run);
    account?.maps.counted(mapCounts, (map) => wasReadyBeforeSource(account, map));
  }
  for (const { after } of applied) {
    const run = runs.get(after.id);
    if (run === undefined) continue;
    run.row = after;
    if (isOver(after.state)) judgeEnd(run);
  }
}

/** Whether a map was READY before the node ended that it takes its items from. */
function wasReadyBeforeSource(run: RunAccount, { name, map }: WorkflowNode): boolean {
  const modes = run.changed?.modes ?? [run.mode];
  return modes.some((mode) => {
    const rows = run.maps.rowsIn(modeOf({ mode }));
    const source = rows.get(map?.from ?? "");
    if (source === undefined) return false;
    rows.set(map?.from ?? "", { ...source, state: "RUNNING" });
    return blanks(run.graph.nodes, rows, modeOf({ mode })).get(name) === "READY";
  });
}

/** A node adds the nodes that its handler has named with the commit in which it succeeds, and with no other one. */
function judgeParts(
  { asked, applied }: Extract<StoreEvent, { kind: "COMMITTED" }>,
  runs: ReadonlyMap<string, RunAccount>,
): void {
  const spawns = new Map(asked.changes.flatMap(({ id, spawn }) => (spawn === undefined ? [] : [[id, spawn] as const])));
  for (const { after } of applied) {
    const run = runs.get(after.job.jobId);
    if (run === undefined || after.node === null) continue;
    const spawn = spawns.get(after.id);
    const mayAdd = after.state === "SUCCEEDED" && run.parts.expected(after.node) !== undefined;
    if ((spawn !== undefined) !== mayAdd)
      throw new Violation(`${after.id} is ${after.state} and has ${spawn === undefined ? "not " : ""}added its nodes`);
    addPart(run, spawn);
  }
}

function addPart(run: RunAccount | undefined, part: NewPart | undefined): void {
  if (run === undefined || part === undefined) return;
  run.parts.add(part);
  run.graph = run.parts.graph;
}

function created(
  event: StoreEvent,
  row: ExecutionRow,
  runs: ReadonlyMap<string, RunAccount>,
  put: (row: ExecutionRow) => void,
): void {
  if (row.node === null || row.node < 0) return;
  const run = runs.get(row.job.jobId);
  const node = run?.parts.nodeOf(row.node);
  // Another checker judges compensations.
  if (isCompensation(row.node)) return put(row);
  if (run === undefined || node === undefined) throw new Violation(`${row.id} is a node of no run`);
  if (row.item !== null) {
    const during = run.changed?.in === event ? run.changed.modes : [run.mode];
    const modes = during.map((mode) => modeOf({ mode }));
    run.maps.judgeCreated(row, event, modes);
    return put(row);
  }
  if (run.rows.has(node.name)) throw new Violation(`${node.name} of ${run.row.id} was created twice`);
  if (isOver(run.row.state)) throw new Violation(`${node.name} was created after the end of ${run.row.id}`);
  // The owner may create a node and change the mode in one commit, in any order. It cancels the node then.
  const modes = run.changed?.in === event ? run.changed.modes : [run.mode];
  const states = modes.map((mode) => {
    return blanks(run.graph.nodes, run.maps.rowsIn(modeOf({ mode })), modeOf({ mode })).get(node.name);
  });
  if (!states.includes("READY")) throw new Violation(`${node.name} of ${run.row.id} was created and is ${states}`);
  put(row);
}

/** A run opens when it is due, together with its first nodes, and its time counts from then. */
function judgeOpening(
  before: ExecutionRow,
  after: ExecutionRow,
  nodes: readonly ExecutionRow[],
  mayHaveNoNode: boolean,
): void {
  const { id, job, startedAt, dueAt } = after;
  if (startedAt === null || startedAt < before.dueAt) throw new Violation(`the run ${id} was opened before its time`);
  const allowedMs = dueAt - startedAt;
  if (allowedMs !== job.definition.policy.timeoutMs) throw new Violation(`the run ${id} has ${allowedMs} ms to end`);
  if (!mayHaveNoNode && !nodes.some((row) => row.job.jobId === id))
    throw new Violation(`the run ${id} was opened without a node`);
}

function modeOf({ mode }: Pick<RunAccount, "mode">): Mode {
  return mode === "EXPIRING" ? "CANCELLING" : (mode as Mode);
}

function judgeEnd(run: RunAccount): void {
  const { graph, row, mode, outcome } = run;
  const live = executionsOf(run).find(({ state }) => !isOver(state));
  if (live !== undefined)
    throw new Violation(`the run ${row.id} is ${row.state}, and its node ${live.id} is ${live.state}`);
  const states = run.maps.rowsIn(modeOf({ mode }));
  const open = [...states].find(([, { state }]) => !isOver(state as ExecutionRow["state"]));
  if (open !== undefined) throw new Violation(`the run ${row.id} is ${row.state}, and its map ${open[0]} goes on`);
  const seen = blanks(graph.nodes, states, modeOf({ mode }));
  for (const [name, state] of seen) {
    if (state !== "SKIPPED") throw new Violation(`the run ${row.id} is ${row.state}, and its node ${name} is ${state}`);
  }
  if (outcome !== null && row.reason === "COMPENSATION_FAILED") return;
  if (outcome !== null && outcome !== row.state)
    throw new Violation(`the run ${row.id} is ${row.state}, and its nodes were compensated because it is ${outcome}`);
  // A run that goes on with a compensation has the mode CANCELLING.
  if (outcome === "DEAD" && mode === "CANCELLING") return;
  const expected = mode === "CANCELLING" ? "CANCELLED" : mode === "EXPIRING" ? "DEAD" : outcomeOf(graph, states);
  // Another checker judges whether the output of the workflow leads nowhere.
  if ((row.reason === "REFERENCE_NOT_FOUND" || outcome !== null) && expected === "SUCCEEDED") return;
  if (row.state !== expected) throw new Violation(`the run ${row.id} is ${row.state} instead of ${expected}`);
}

function outcomeOf({ nodes }: Graph, rows: ReadonlyMap<string, NodeRow>): string {
  const isFatal = ({ name, allowFailure }: WorkflowNode) =>
    !allowFailure && ["DEAD", "CANCELLED"].includes(rows.get(name)?.state ?? "");
  return nodes.some(isFatal) ? "DEAD" : "SUCCEEDED";
}
