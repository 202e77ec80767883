import {
  type ExecutionRow,
  isCompensation,
  nodeOfCompensation,
  type RunRow,
  type StoreEvent,
} from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, isOver, isRun } from "../recurring/ledger.ts";
import type { Graph } from "./graphs-come-out-right.ts";

interface Account {
  graph: Graph;
  /** Executions of nodes, and of compensations, by the number of the node; also those of earlier runs. */
  nodes: Map<number, ExecutionRow>;
  undone: Map<number, ExecutionRow>;
  /** Executions of items of maps by id. */
  items: Map<string, ExecutionRow>;
  /** Whether the row of the run says that it compensates its nodes. */
  isCompensating: boolean;
}

/**
 * A compensation is created once, for a node that SUCCEEDED and declares one, while no node of the run is live, and after the
 * compensations of all descendants SUCCEEDED. A run that is DEAD, or CANCELLED where its workflow asks for that, ends when
 * every such compensation has ended, and says whether one of them failed.
 * @param graphs workflows by the id of their job
 */
export function compensationIsReverse(graphs: () => ReadonlyMap<string, Graph>): Checker {
  const runs = new Map<string, Account>();
  const begin = ({ id, job }: ExecutionRow) => {
    const graph = graphs().get(job.jobId);
    if (graph !== undefined && !runs.has(id))
      runs.set(id, { graph, nodes: new Map(), undone: new Map(), items: new Map(), isCompensating: false });
  };
  const put = (row: ExecutionRow) => {
    const run = runs.get(row.job.jobId);
    if (run === undefined || row.node === null || row.node < 0) return;
    if (isCompensation(row.node)) run.undone.set(nodeOfCompensation(row.node), row);
    else if (row.item === null) run.nodes.set(row.node, row);
    else run.items.set(row.id, row);
  };
  const keep = ({ run: id, kept, outcome }: RunRow) => {
    const run = runs.get(id);
    if (run === undefined) return;
    if (outcome !== null) run.isCompensating = true;
    for (const { run: base, nodes } of kept) for (const [number] of nodes) keepOne(run, runs.get(base), number);
  };
  return {
    name: "compensation is reverse",
    saw(event) {
      if (event.kind === "WENT_BACK") {
        runs.clear();
        for (const row of event.rows) if (isRun(row)) begin(row);
        for (const row of event.rows) put(row);
        for (const run of event.runs) keep(run);
        return;
      }
      for (const row of addedRows(event)) if (isRun(row)) begin(row);
      if (event.kind === "RUN_RETRIED") keep(event.run);
      committed(event, runs, put);
      for (const row of addedRows(event)) {
        const run = row.node !== null && isCompensation(row.node) ? runs.get(row.job.jobId) : undefined;
        if (run !== undefined) created(run, row);
        put(row);
      }
    },
  };
}

function committed(event: StoreEvent, runs: ReadonlyMap<string, Account>, put: (row: ExecutionRow) => void): void {
  if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
  const missed = new Set(event.outcome.missedRuns);
  for (const { run, outcome } of event.asked.runs) {
    const account = runs.get(run);
    if (account !== undefined && outcome !== undefined && !missed.has(run)) account.isCompensating = true;
  }
  for (const { after } of event.applied) put(after);
  for (const { after } of event.applied) {
    const run = isRun(after) && isOver(after.state) ? runs.get(after.id) : undefined;
    if (run !== undefined) judgeEnd(run, after);
  }
}

function keepOne(run: Account, base: Account | undefined, number: number): void {
  const node = isCompensation(number) ? nodeOfCompensation(number) : number;
  // Another checker judges maps, which cannot be compensated.
  if (run.graph.nodes[node]?.map !== undefined) return;
  const [from, into] = isCompensation(number) ? [base?.undone, run.undone] : [base?.nodes, run.nodes];
  const row = from?.get(node);
  if (row?.state !== "SUCCEEDED") throw new Violation(`a retry keeps ${number}, which has not succeeded`);
  const undone = base?.undone.get(node);
  const isUndone = undone !== undefined && !isCompensation(number) && !run.isCompensating;
  if (isUndone) throw new Violation(`a retry keeps the node of ${row.id}, which ${undone.id} has undone`);
  into.set(node, row);
}

function created(run: Account, row: ExecutionRow): void {
  const node = nodeOfCompensation(row.node ?? 0);
  if (!run.isCompensating) throw new Violation(`${row.id} compensates a node of a run that goes on`);
  if (run.undone.has(node)) throw new Violation(`${row.id} compensates a node for the second time`);
  if (!isCompensated(run, node)) throw new Violation(`${row.id} compensates a node that has not succeeded`);
  const live = [...run.nodes.values(), ...run.items.values()].find(({ state }) => !isOver(state));
  if (live !== undefined) throw new Violation(`${row.id} compensates a node while ${live.id} is ${live.state}`);
  const open = waitsFor(run, node);
  if (open !== undefined)
    throw new Violation(`${row.id} compensates a node before that of ${open}, which came after it`);
}

function judgeEnd(run: Account, { id, state, reason }: ExecutionRow): void {
  const nodes = [...run.nodes.keys()].filter((node) => isCompensated(run, node));
  if (!run.isCompensating) {
    const isAsked = state === "DEAD" || (state === "CANCELLED" && run.graph.compensatesOnCancel === true);
    if (isAsked && nodes.length > 0) throw new Violation(`the run ${id} is ${state}, and nothing of it is compensated`);
    return;
  }
  for (const node of nodes) {
    const own = run.undone.get(node);
    const isMissing = own === undefined ? waitsFor(run, node) === undefined : !isOver(own.state);
    if (isMissing)
      throw new Violation(`the run ${id} is ${state} before the compensation of the node ${node} has ended`);
  }
  const hasFailed = [...run.undone.values()].some((row) => row.state !== "SUCCEEDED");
  if (hasFailed !== (reason === "COMPENSATION_FAILED") || (hasFailed && state !== "DEAD"))
    throw new Violation(`the run ${id} is ${state} ${reason}, and ${hasFailed ? "a" : "no"} compensation has failed`);
}

function isCompensated({ graph, nodes }: Account, node: number): boolean {
  return graph.nodes[node]?.compensate !== undefined && nodes.get(node)?.state === "SUCCEEDED";
}

/** Name of a node after this one whose compensation must succeed first, by the plainest reading; undefined: there is none. */
function waitsFor(run: Account, node: number): string | undefined {
  const { nodes } = run.graph;
  const after = new Set([nodes[node]?.name ?? ""]);
  for (let size = 0; size < after.size; ) {
    size = after.size;
    for (const { name, dependsOn } of nodes) if (dependsOn.some((edge) => after.has(edge.node))) after.add(name);
  }
  const isOpen = ({ name }: { name: string }, number: number) =>
    number !== node && after.has(name) && isCompensated(run, number) && run.undone.get(number)?.state !== "SUCCEEDED";
  return nodes.find(isOpen)?.name;
}
