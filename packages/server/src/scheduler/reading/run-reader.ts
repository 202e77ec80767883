import type { ExecutionId, JobId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { decodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { decodePart, withDefinitions, withParts } from "../../domain/workflow/spawned-parts.ts";
import { decodingNodes } from "../../domain/workflow/stored-nodes.ts";
import type { ReadRun, ReadWorkflow } from "../../engine/inputs.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { LoadedRun, StoredWorkflow } from "../../ports/store-runs.ts";
import { Turns } from "../../ports/turns.ts";
import { WeightedCache } from "./weighted-cache.ts";

/** Largest size of the stored workflows that are kept decoded, in bytes as the store has them. */
const KEPT_BYTES_MAX = 32 * 1024 * 1024;

/** Reads open runs, and keeps the graphs and definitions of their workflows decoded, because runs share them. */
export class RunReader {
  readonly #store: Pick<Store, "runs">;
  readonly #turns: Turns;
  readonly #kept = new WeightedCache<ReadWorkflow>(KEPT_BYTES_MAX);

  constructor(store: Pick<Store, "runs">, runtime: Pick<Runtime, "defer" | "setTimer" | "monotonicMs">) {
    this.#store = store;
    this.#turns = new Turns(runtime);
  }

  /** @throws {StoreUnavailable} */
  async read(asked: readonly ExecutionId[]): Promise<ReadRun[]> {
    // Another read may drop a workflow from the cache while this one needs it.
    const known = new Map<string, ReadWorkflow>();
    const isKept = (workflow: JobId, version: number) => this.#isKept(keyOf(workflow, version), known);
    const loaded = await this.#store.runs.load(asked, isKept);
    for (const { row, workflow, stored } of loaded) {
      const key = keyOf(workflow, row.jobVersion);
      if (stored !== null && !known.has(key)) known.set(key, await this.#decode(key, stored));
    }
    return loaded.map((run) => withWorkflow(run, known.get(keyOf(run.workflow, run.row.jobVersion))));
  }

  #isKept(key: string, known: Map<string, ReadWorkflow>): boolean {
    const workflow = this.#kept.use(key);
    if (workflow !== undefined) known.set(key, workflow);
    return known.has(key);
  }

  async #decode(key: string, { graph: bytes, definitions, output }: StoredWorkflow): Promise<ReadWorkflow> {
    const decoded = await this.#turns.run(() => decodeGraph(bytes));
    invariant("graph" in decoded, `the graph of the workflow ${key} cannot be read`);
    const workflow = { graph: decoded.graph, definitions: await this.#turns.steps(decodingNodes(definitions)), output };
    this.#kept.keep(key, workflow, bytes.length + definitions.length + (output?.length ?? 0));
    return workflow;
  }
}

function withWorkflow(run: LoadedRun, workflow: ReadWorkflow | undefined): ReadRun {
  invariant(workflow !== undefined, "a run that was read has a workflow");
  const { stored: _stored, parts: stored, ...rest } = run;
  const parts = stored.map(decodePart);
  const { output } = workflow;
  const graph = withParts(workflow.graph, parts);
  const defined = workflow.graph.nodeCount;
  return { ...rest, graph, definitions: withDefinitions(workflow.definitions, parts), output, defined };
}

function keyOf(workflow: JobId, version: number): string {
  return `${workflow}/${version}`;
}
