import type { ExecutionRow, StoreEvent, WorkflowNode } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { addedRows, isOver } from "../recurring/ledger.ts";
import { blanks, type Mode, type NodeRow } from "./graph-oracle.ts";

/** Time for reads, commits and messages that follow from the end of a node, in milliseconds. */
const BOUND_MS = 30_000;

export interface Graph {
  nodes: readonly WorkflowNode[];
  onFailure: "FAIL_FAST" | "CONTINUE";
}

interface RunAccount {
  graph: Graph;
  row: ExecutionRow;
  mode: string;
  /** Mode before the commit that the checker sees now. */
  formerMode: string;
  paused: boolean;
  rows: Map<string, ExecutionRow>;
  /** Simulated time since which no node is live; null: one is. */
  idleSinceMs: number | null;
}

/**
 * A node is created once, and only when its parents have ended as its edges want; a run ends only when nothing of it is
 * live or may start, and then as its nodes say. An open run whose nodes have all ended goes on or ends soon, unless it is paused.
 * @param graphs workflows by the id of their job
 */
export function graphsComeOutRight(graphs: () => ReadonlyMap<string, Graph>, quiet: Quiet): Checker {
  const runs = new Map<string, RunAccount>();
  const begin = (row: ExecutionRow, mode: string, paused: boolean) => {
    const graph = graphs().get(row.job.jobId);
    if (graph !== undefined)
      runs.set(row.id, { graph, row, mode, formerMode: mode, paused, rows: new Map(), idleSinceMs: null });
  };
  const put = (row: ExecutionRow) => {
    const run = runs.get(row.job.jobId);
    const name = run?.graph.nodes[row.node ?? -1]?.name;
    if (run !== undefined && name !== undefined) run.rows.set(name, row);
  };
  return {
    name: "graphs come out right",
    saw(event) {
      if (event.kind === "WENT_BACK") {
        runs.clear();
        const runsById = new Map(event.runs.map((run) => [run.run, run]));
        for (const row of event.rows) {
          const { mode = "RUNNING", paused = false } = runsById.get(row.id) ?? {};
          if (row.queue === "OPEN") begin(row, mode, paused);
        }
        for (const row of event.rows) put(row);
        return;
      }
      if (event.kind === "SUBMITTED")
        for (const row of event.rows) if (row.queue === "OPEN") begin(row, "RUNNING", false);
      if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") committed(event, runs, put);
      for (const row of addedRows(event)) created(row, runs, put);
      if (event.kind !== "COMMITTED") return;
      for (const { run } of event.asked.runs) settle(runs.get(run));
    },
    looked(nowMs) {
      for (const run of runs.values()) {
        const isIdle =
          !isOver(run.row.state) && !run.paused && [...run.rows.values()].every(({ state }) => isOver(state));
        run.idleSinceMs = isIdle ? (run.idleSinceMs ?? nowMs) : null;
        const sinceMs = Math.max(run.idleSinceMs ?? nowMs, quiet.butForBlocksSinceMs);
        if (nowMs - sinceMs > BOUND_MS) throw new Violation(`the run ${run.row.id} is open and nothing of it is live`);
      }
    },
  };
}

function committed(
  { asked, applied, outcome }: Extract<StoreEvent, { kind: "COMMITTED" }>,
  runs: ReadonlyMap<string, RunAccount>,
  put: (row: ExecutionRow) => void,
): void {
  const missed = new Set(outcome.missedRuns);
  for (const { run, mode, paused } of asked.runs) {
    const account = runs.get(run);
    if (account !== undefined && !missed.has(run)) Object.assign(account, { mode, paused, formerMode: account.mode });
  }
  for (const { after } of applied) put(after);
  for (const { after } of applied) {
    const run = runs.get(after.id);
    if (run === undefined) continue;
    run.row = after;
    if (isOver(after.state)) judgeEnd(run);
  }
}

function settle(run: RunAccount | undefined): void {
  if (run !== undefined) run.formerMode = run.mode;
}

function created(row: ExecutionRow, runs: ReadonlyMap<string, RunAccount>, put: (row: ExecutionRow) => void): void {
  if (row.node === null || row.node < 0) return;
  const run = runs.get(row.job.jobId);
  const node = run?.graph.nodes[row.node];
  if (run === undefined || node === undefined) throw new Violation(`${row.id} is a node of no run`);
  if (run.rows.has(node.name)) throw new Violation(`${node.name} of ${run.row.id} was created twice`);
  if (isOver(run.row.state)) throw new Violation(`${node.name} was created after the end of ${run.row.id}`);
  // The owner may have created the node before another end in the same commit changed the mode.
  const [state, former] = [run.mode, run.formerMode].map((mode) =>
    blanks(run.graph.nodes, run.rows, progressMode(mode)).get(node.name),
  );
  if (state !== "READY" && former !== "READY")
    throw new Violation(`${node.name} of ${run.row.id} was created and is ${state}`);
  put(row);
}

function progressMode(mode: string): Mode {
  return mode === "EXPIRING" ? "CANCELLING" : (mode as Mode);
}

function judgeEnd(run: RunAccount): void {
  const { graph, row, rows, mode } = run;
  const live = [...rows.values()].find(({ state }) => !isOver(state));
  if (live !== undefined)
    throw new Violation(`the run ${row.id} is ${row.state}, and its node ${live.id} is ${live.state}`);
  const seen = blanks(graph.nodes, rows as ReadonlyMap<string, NodeRow>, progressMode(mode));
  for (const [name, state] of seen) {
    if (state !== "SKIPPED") throw new Violation(`the run ${row.id} is ${row.state}, and its node ${name} is ${state}`);
  }
  const expected = mode === "CANCELLING" ? "CANCELLED" : mode === "EXPIRING" ? "DEAD" : outcomeOf(graph, rows);
  if (row.state !== expected) throw new Violation(`the run ${row.id} is ${row.state} instead of ${expected}`);
}

function outcomeOf({ nodes }: Graph, rows: ReadonlyMap<string, ExecutionRow>): string {
  const isFatal = ({ name, allowFailure }: WorkflowNode) =>
    !allowFailure && ["DEAD", "CANCELLED"].includes(rows.get(name)?.state ?? "");
  return nodes.some(isFatal) ? "DEAD" : "SUCCEEDED";
}
