import { isDeepStrictEqual } from "node:util";
import { type ExecutionRow, isCompensation, nodeOfCompensation, type RunRow } from "@mainspring/server/testing";
import type { SimEvent } from "../../history.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows, assignedIn, isChildRun, isOver, isRun, type Ledger } from "../recurring/ledger.ts";
import type { Graph, NodeReference, Reference } from "./graphs-come-out-right.ts";
import { ResultsAccount } from "./results-account.ts";

/** Stands for the value of a reference that leads nowhere. */
export const NOWHERE = Symbol("nowhere");

/** A node of a run, with the rows of the run's other nodes. */
interface Placed {
  run: ExecutionRow;
  graph: Graph;
  node: number;
  /** Index of the item of a map; null: the node is none. */
  item: number | null;
}

/**
 * A handler gets the values to which the references of its node lead, as the rows say; a node is DEAD because of a reference
 * only if one leads nowhere, and then no handler of it starts. The result of a run is its output with these values. A
 * reference to a node that succeeded after the attempt was assigned may lead to its result or to null. The results of a map are
 * a list in the order of its items, with null for items that have not succeeded, or null for a map that was not counted.
 * @param graphs workflows by the id of their job
 */
export function referencesAreTrue(ledger: Ledger, graphs: () => ReadonlyMap<string, Graph>): Checker {
  const oracle = new Oracle(ledger, graphs);
  return {
    name: "references are true",
    saw(event) {
      oracle.number++;
      for (const row of addedRows(event)) oracle.added(row);
      if (event.kind === "RUN_RETRIED") oracle.keeps(event.run);
      if (event.kind === "WENT_BACK") oracle.wentBack(event.runs);
      if (event.kind !== "COMMITTED" || event.outcome.status !== "APPLIED") return;
      oracle.counted(event.asked.runs, new Set(event.outcome.missedRuns));
      for (const { id, attempt } of assignedIn(event)) oracle.assignedIn.set(attemptOf(id, attempt), oracle.number);
      for (const { after } of event.applied) if (after.node !== null && isOver(after.state)) oracle.ended(after);
    },
    noticed(event) {
      if (event.kind === "HANDLER_STARTED") oracle.started(event);
    },
  };
}

/** Values of references, by the rows. */
class Oracle {
  /** Number of the present event. */
  number = 0;
  /** Number of the event that assigned an attempt. */
  readonly assignedIn = new Map<string, number>();
  /** Number of the event that made an execution final. */
  readonly #endedIn = new Map<string, number>();
  /** Executions of nodes, by run and name. A node that a retry keeps has the execution of the earlier run. */
  readonly #nodes = new Map<string, Map<string, string>>();
  readonly #ledger: Ledger;
  readonly #graphs: () => ReadonlyMap<string, Graph>;
  readonly #results: ResultsAccount;

  constructor(ledger: Ledger, graphs: () => ReadonlyMap<string, Graph>) {
    this.#ledger = ledger;
    this.#graphs = graphs;
    this.#results = new ResultsAccount({ ledger, endedIn: this.#endedIn, resultOf });
  }

  added(row: ExecutionRow): void {
    const placed = this.#placeOf(row);
    this.#results.added(row);
    if (placed === null || placed.item !== null || isCompensation(placed.node)) return;
    this.#put(placed.run.id, nameOf(placed), row.id);
  }

  /** @param missed runs of which the store has written nothing */
  counted(changes: readonly { run: string; mapCounts?: RunRow["mapCounts"] }[], missed: ReadonlySet<string>): void {
    for (const { run, mapCounts = [] } of changes)
      if (!missed.has(run)) this.#results.counted(run, mapCounts, this.number);
  }

  wentBack(runs: readonly RunRow[]): void {
    this.#results.wentBack(runs, this.number);
    for (const run of runs) this.keeps(run);
  }

  keeps(row: RunRow): void {
    const { run: id, kept } = row;
    this.#results.keeps(row);
    this.#results.counted(id, row.mapCounts, this.number);
    const run = this.#ledger.get(id)?.row;
    const graph = run === undefined ? undefined : this.#graphOf(run);
    if (run === undefined || graph === undefined) return;
    for (const { run: base, nodes } of kept) {
      for (const [node] of nodes) {
        if (isCompensation(node)) continue;
        const name = nameOf({ graph, node });
        this.#put(id, name, this.#nodes.get(base)?.get(name) ?? "");
      }
    }
  }

  #put(run: string, name: string, id: string): void {
    const ofRun = this.#nodes.get(run) ?? new Map<string, string>();
    this.#nodes.set(run, ofRun.set(name, id));
  }

  /** @throws {Violation} */
  ended(row: ExecutionRow): void {
    this.#endedIn.set(row.id, this.number);
    if (isRun(row)) this.#judgeRun(row);
    else if (row.reason === "REFERENCE_NOT_FOUND") this.#judgeNode(row);
  }

  /** @throws {Violation} */
  started({ executionId, attempt, got = [] }: Extract<SimEvent, { kind: "HANDLER_STARTED" }>): void {
    const row = this.#ledger.get(executionId)?.row;
    const placed = row === undefined ? null : this.#placeOf(row);
    if (placed === null) return;
    const since = this.assignedIn.get(attemptOf(executionId, attempt)) ?? 0;
    for (const [index, reference] of referencesOf(placed).entries()) {
      if ("$results" in reference && this.#results.mayBe(got[index], placed.run.id, numberOf(placed, reference), since))
        continue;
      const values = this.#valuesAt(placed, reference, since);
      if (!("$results" in reference) && values.some((value) => isDeepStrictEqual(value, got[index]))) continue;
      const what = `${shown(got[index])} for ${shown(reference)} instead of ${shown(values[0])}`;
      throw new Violation(`attempt ${attempt} of ${executionId} got ${what}`);
    }
  }

  #graphOf(run: ExecutionRow): Graph | undefined {
    if (!isChildRun(run)) return this.#graphs().get(run.job.jobId);
    const parent = this.#ledger.get(run.job.jobId)?.row;
    return parent === undefined ? undefined : this.#graphOf(parent)?.nested?.get(run.node ?? -1);
  }

  #placeOf(row: ExecutionRow): Placed | null {
    if (row.node === null || isRun(row)) return null;
    const run = this.#ledger.get(row.job.jobId)?.row;
    const graph = run === undefined ? undefined : this.#graphOf(run);
    return run === undefined || graph === undefined ? null : { run, graph, node: row.node, item: row.item };
  }

  /** Values that a reference of a node, or of the item of a map, may have. */
  #valuesAt({ run, graph, node, item }: Placed, reference: Reference, since: number): unknown[] {
    if ("$index" in reference) return [item];
    if ("$results" in reference) return [this.#results.now(run.id, numberOf({ graph }, reference))];
    if ("$from" in reference) return this.#valuesOf(run, graph, reference, since);
    const map = graph.nodes[node]?.map;
    const path = [...(map?.path ?? []), item ?? -1, ...(reference.path ?? [])];
    return this.#valuesOf(run, graph, { $from: map?.from ?? "", path }, since);
  }

  /**
   * Values that a reference may have.
   * @param since number of the event from which on a reader may see either the result of a node or that it has none
   */
  #valuesOf(run: ExecutionRow, { references }: Graph, reference: NodeReference, since: number): unknown[] {
    if (reference.$from === "$input") return [partOf(references?.input, reference)];
    const id = this.#nodes.get(run.id)?.get(reference.$from) ?? "";
    const source = this.#ledger.get(id)?.row;
    if (source?.state !== "SUCCEEDED") return [null];
    const part = partOf(resultOf(source), reference);
    return (this.#endedIn.get(id) ?? 0) > since ? [part, null] : [part];
  }

  #judgeNode(row: ExecutionRow): void {
    const placed = this.#placeOf(row);
    if (placed === null) return;
    const since = this.assignedIn.get(attemptOf(row.id, row.attempt)) ?? 0;
    const values = referencesOf(placed).flatMap((one) => this.#valuesAt(placed, one, since));
    if (!values.includes(NOWHERE))
      throw new Violation(`${row.id} is DEAD because of a reference, and all of them lead to a value`);
  }

  #judgeRun(row: ExecutionRow): void {
    const graph = this.#graphOf(row);
    const output = graph?.references?.output;
    if (graph === undefined || output === undefined) return;
    const of = { run: row, graph, node: -1, item: null };
    const values = output.map((reference) => this.#valuesAt(of, reference, Number.POSITIVE_INFINITY)[0]);
    if (row.state === "SUCCEEDED" && !isDeepStrictEqual(resultOf(row), values))
      throw new Violation(`the run ${row.id} has the result ${shown(resultOf(row))}`);
    if (row.reason === "REFERENCE_NOT_FOUND" && !values.includes(NOWHERE))
      throw new Violation(`the run ${row.id} is DEAD because of its output, whose references lead to values`);
  }
}

function referencesOf({ graph, node }: Placed): readonly Reference[] {
  const { ofNodes = [], ofCompensations = [] } = graph.references ?? {};
  return (isCompensation(node) ? ofCompensations[nodeOfCompensation(node)] : ofNodes[node]) ?? [];
}

export function resultOf({ result }: ExecutionRow): unknown {
  return result === null ? null : JSON.parse(Buffer.from(result).toString());
}

function numberOf({ graph }: Pick<Placed, "graph">, { $results: map }: { $results: string }): number {
  return graph.nodes.findIndex(({ name }) => name === map);
}

function nameOf({ graph, node }: Pick<Placed, "graph" | "node">): string {
  return graph.nodes[node]?.name ?? "";
}

function attemptOf(executionId: string, attempt: number): string {
  return `${executionId}/${attempt}`;
}

/** Part of a value at the path of a reference, by the plainest reading; NOWHERE: there is none. */
export function partOf(value: unknown, { path = [] }: Pick<NodeReference, "path">): unknown {
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
