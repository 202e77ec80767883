import { isDeepStrictEqual } from "node:util";
import type { ExecutionRow, RunRow } from "@mainspring/server/testing";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, isOver, isRun, type Ledger } from "../recurring/ledger.ts";
import type { Graph, Reference } from "./graphs-come-out-right.ts";

/** Stands for the value of a reference that leads nowhere. */
const NOWHERE = Symbol("nowhere");

/** A node of a run, with the rows of the run's other nodes. */
interface Placed {
  run: ExecutionRow;
  graph: Graph;
  node: number;
}

/**
 * A handler gets the values to which the references of its node lead, as the rows say; a node is DEAD because of a reference
 * only if one leads nowhere, and then no handler of it starts. The result of a run is its output with these values. A
 * reference to a node that succeeded after the attempt was assigned may lead to its result or to null.
 * @param graphs workflows by the id of their job
 */
export function referencesAreTrue(ledger: Ledger, graphs: () => ReadonlyMap<string, Graph>): Checker {
  /** Executions of nodes, by run and name. A node that a retry keeps has the execution of the earlier run. */
  const nodes = new Map<string, Map<string, string>>();
  /** Number of the event that made an execution final. */
  const endedIn = new Map<string, number>();
  /** Number of the event that assigned an attempt. */
  const assignedIn = new Map<string, number>();
  let number = 0;

  const put = (run: ExecutionRow, graph: Graph, node: number, id: string) => {
    const ofRun = nodes.get(run.id) ?? new Map<string, string>();
    nodes.set(run.id, ofRun.set(graph.nodes[node]?.name ?? "", id));
  };
  const keep = ({ run: id, kept }: RunRow) => {
    const run = ledger.get(id)?.row;
    const graph = run === undefined ? undefined : graphs().get(run.job.jobId);
    if (run === undefined || graph === undefined) return;
    for (const { run: base, nodes: own } of kept) {
      const ofBase = nodes.get(base);
      for (const [node] of own) put(run, graph, node, ofBase?.get(graph.nodes[node]?.name ?? "") ?? "");
    }
  };
  const placeOf = (row: ExecutionRow): Placed | null => {
    const run = ledger.get(row.job.jobId)?.row;
    const graph = run === undefined ? undefined : graphs().get(run.job.jobId);
    return run === undefined || graph === undefined || row.node === null ? null : { run, graph, node: row.node };
  };
  /** Values that a reference may have. @param since number of the event from which on a reader may see either */
  const valuesOf = (run: ExecutionRow, graph: Graph, reference: Reference, since: number): unknown[] => {
    if (reference.$from === "$input") return [partOf(graph.references?.input, reference)];
    const id = nodes.get(run.id)?.get(reference.$from) ?? "";
    const source = ledger.get(id)?.row;
    if (source?.state !== "SUCCEEDED") return [null];
    const value = source.result === null ? null : (JSON.parse(Buffer.from(source.result).toString()) as unknown);
    const part = partOf(value, reference);
    return (endedIn.get(id) ?? 0) > since ? [part, null] : [part];
  };
  const judgeNode = (row: ExecutionRow) => {
    const placed = placeOf(row);
    if (placed === null) return;
    const references = placed.graph.references?.ofNodes[placed.node] ?? [];
    const since = assignedIn.get(attemptOf(row.id, row.attempt)) ?? 0;
    const mayFail = references.some((reference) =>
      valuesOf(placed.run, placed.graph, reference, since).includes(NOWHERE),
    );
    if (!mayFail) throw new Violation(`${row.id} is DEAD because of a reference, and all of them lead to a value`);
  };
  const judgeRun = (row: ExecutionRow) => {
    const graph = graphs().get(row.job.jobId);
    const output = graph?.references?.output;
    if (graph === undefined || output === undefined) return;
    const values = output.map((reference) => valuesOf(row, graph, reference, Number.POSITIVE_INFINITY)[0]);
    if (row.state === "SUCCEEDED") {
      const result = row.result === null ? null : (JSON.parse(Buffer.from(row.result).toString()) as unknown);
      if (!isDeepStrictEqual(result, values)) throw new Violation(`the run ${row.id} has the result ${shown(result)}`);
    } else if (row.reason === "REFERENCE_NOT_FOUND" && !values.includes(NOWHERE))
      throw new Violation(`the run ${row.id} is DEAD because of its output, whose references lead to values`);
  };

  return {
    name: "references are true",
    saw(event) {
      number++;
      for (const row of addedRows(event)) {
        const placed = row.node === null || isRun(row) ? null : placeOf(row);
        if (placed === null) continue;
        put(placed.run, placed.graph, placed.node, row.id);
      }
      if (event.kind === "RUN_RETRIED") keep(event.run);
      if (event.kind === "WENT_BACK") for (const run of event.runs) keep(run);
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      for (const { id, attempt } of event.asked.assigned) assignedIn.set(attemptOf(id, attempt), number);
      for (const { after } of event.applied) {
        if (after.node === null || !isOver(after.state)) continue;
        endedIn.set(after.id, number);
        if (isRun(after)) judgeRun(after);
        else if (after.reason === "REFERENCE_NOT_FOUND") judgeNode(after);
      }
    },
    noticed(event) {
      if (event.kind !== "HANDLER_STARTED") return;
      const { executionId, attempt, got = [] } = event;
      const row = ledger.get(executionId)?.row;
      const placed = row === undefined || row.node === null ? null : placeOf(row);
      if (placed === null) return;
      const references = placed.graph.references?.ofNodes[placed.node] ?? [];
      const since = assignedIn.get(attemptOf(executionId, attempt)) ?? 0;
      for (const [index, reference] of references.entries()) {
        const values = valuesOf(placed.run, placed.graph, reference, since);
        if (values.some((value) => isDeepStrictEqual(value, got[index]))) continue;
        throw new Violation(
          `attempt ${attempt} of ${executionId} got ${shown(got[index])} for ${shown(reference)} instead of ${shown(values[0])}`,
        );
      }
    },
  };
}

function attemptOf(executionId: string, attempt: number): string {
  return `${executionId}/${attempt}`;
}

/** Part of a value at the path of a reference, by the plainest reading; NOWHERE: there is none. */
function partOf(value: unknown, { path = [] }: Reference): unknown {
  let part = value;
  for (const step of path) {
    const isThere =
      typeof step === "number"
        ? Array.isArray(part) && step < part.length
        : typeof part === "object" && part !== null && !Array.isArray(part) && Object.hasOwn(part, step);
    if (!isThere) return NOWHERE;
    part = (part as Record<string | number, unknown>)[step];
  }
  return part;
}

function shown(value: unknown): string {
  return typeof value === "symbol" ? "nothing" : JSON.stringify(value);
}
