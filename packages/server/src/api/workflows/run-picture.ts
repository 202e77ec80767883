import type { NodeState, RUN_MODES } from "@mainspring/contract/enums";
import { isFinal } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import { Compensation, nodesToCompensate } from "../../domain/workflow/compensation.ts";
import { isCompensation, nodeOfCompensation } from "../../domain/workflow/compensation-number.ts";
import type { StoredNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { decodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { type KeptNode, keptByNode, keptCompensations } from "../../domain/workflow/kept-nodes.ts";
import { type ItemStates, progressOf } from "../../domain/workflow/map-counts.ts";
import type { RunProgress } from "../../domain/workflow/readiness.ts";
import { type DefinedPart, decodePart, withDefinitions, withParts } from "../../domain/workflow/spawned-parts.ts";
import { decodeNodes } from "../../domain/workflow/stored-nodes.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { NodeSummary, RunView, StoreRuns } from "../../ports/store-runs.ts";
import type { TenantStore, TenantStores } from "../../security/tenant-stores.ts";
import type { LiveView, Overlaid } from "../executions/live.ts";

/** Definitions of workflows that stay decoded. */
const DECODED_MAX = 8;
/** Rows that one read of the store brings. */
const PAGE_ROWS = 1_000;

export type ShownMode = (typeof RUN_MODES)[number];

interface Decoded {
  graph: WorkflowGraph;
  nodes: readonly StoredNode[];
}

/** A run with all of its nodes, as rows and owners show them. Nodes are numbers. */
export interface RunPicture extends Decoded {
  run: RunView;
  /** Graph of the workflow's definition, without the parts of the run. */
  definedGraph: WorkflowGraph;
  /** Nodes that handlers have added. */
  parts: readonly DefinedPart[];
  /** Name of the node whose sub-workflow the run is; null: the run is that of a job, or its parent is gone. */
  parentNode: string | null;
  /** Executions of nodes that have one. */
  executions: ReadonlyMap<number, Overlaid<NodeSummary>>;
  progress: RunProgress;
  /** Compensation of the run; null: it has not begun. */
  compensation: Compensation | null;
  /** Executions of compensations that have one, by node. */
  compensations: ReadonlyMap<number, Overlaid<NodeSummary>>;
  /** Items of maps that have an execution. */
  items: readonly ItemStates[];
  /** Nodes that the run, a retry, keeps from earlier runs, by number. */
  kept: ReadonlyMap<number, KeptNode>;
}

/** Reads runs of workflows. */
export class RunReader {
  readonly #stores: Pick<TenantStores, "of">;
  readonly #runs: Pick<StoreRuns, "items">;
  readonly #live: LiveView;
  /** Definitions by workflow and version; the one that was used last is at the end. */
  readonly #decoded = new Map<string, Decoded>();

  constructor(stores: Pick<TenantStores, "of">, runs: Pick<StoreRuns, "items">, live: LiveView) {
    this.#stores = stores;
    this.#runs = runs;
    this.#live = live;
  }

  /** Reads a run without its nodes. @throws {StoreUnavailable} */
  read(tenant: Tenant, id: ExecutionId): Promise<RunView | null> {
    return this.#stores.of(tenant).queries.getRun(id);
  }

  /** Reads a run and all of its nodes. @throws {StoreUnavailable} */
  async picture(tenant: Tenant, id: ExecutionId): Promise<RunPicture | null> {
    const run = await this.read(tenant, id);
    if (run === null) return null;
    const { definedGraph, parts, graph, nodes } = this.#decodeRun(run);
    // The run was read first. Nodes that handlers have added since are left out.
    const all = (await this.#rows(this.#stores.of(tenant), id)).filter(
      ({ ofRun: { node } }) => isCompensation(node) || node < graph.nodeCount,
    );
    const rows = all.filter(({ ofRun }) => !isCompensation(ofRun.node));
    const undoing = all.filter(({ ofRun }) => isCompensation(ofRun.node));
    // A run that has ended without a start has passed over all of its nodes.
    const mode = run.startedAt === null && isFinal(run.state) ? "CANCELLING" : progressMode(run.mode);
    // The row of the run was read first. A map that was counted since has items that are left out.
    const items = run.mapCounts.length === 0 ? [] : ((await this.#runs.items([id])).get(id) ?? []);
    const progress = pictureProgress(graph, run, rows, items, mode);
    const executions = new Map((await this.#live.overlay(rows)).map((row) => [row.ofRun.node, row]));
    const overlaid = undoing.length === 0 ? [] : await this.#live.overlay(undoing);
    const compensations = new Map(overlaid.map((row) => [nodeOfCompensation(row.ofRun.node), row]));
    const compensation = compensationIn(run, nodes, progress, undoing);
    const ofNodes = { progress, items, executions, kept: keptByNode(run.kept) };
    const parentNode = run.parent === null ? null : await this.nameOf(tenant, run.parent.run, run.parent.node);
    return { run, parentNode, definedGraph, parts, graph, nodes, ...ofNodes, compensation, compensations };
  }

  /** Name of a node, also by the number of its compensation; null: the run is gone. @throws {StoreUnavailable} */
  async nameOf(tenant: Tenant, id: ExecutionId, node: number): Promise<string | null> {
    const run = await this.read(tenant, id);
    const of = isCompensation(node) ? nodeOfCompensation(node) : node;
    return run === null ? null : (this.#decodeRun(run).nodes[of]?.name ?? null);
  }

  /** Number of a node, by its name; null: the run, or the node, does not exist. @throws {StoreUnavailable} */
  async nodeNamed(
    tenant: Tenant,
    id: ExecutionId,
    wanted: string,
  ): Promise<{ run: RunView; node: number; isMap: boolean } | null> {
    const run = await this.read(tenant, id);
    if (run === null) return null;
    const { graph, nodes } = this.#decodeRun(run);
    const node = nodes.findIndex(({ name }) => name === wanted);
    return node === -1 ? null : { run, node, isMap: graph.isMap(node) };
  }

  async #rows({ queries }: TenantStore, run: ExecutionId): Promise<NodeSummary[]> {
    const rows: NodeSummary[] = [];
    for (let after: string | null = null; ; ) {
      const page = await queries.listNodes(run, { withoutItems: true }, { after, limit: PAGE_ROWS });
      for (const row of page.items) rows.push(row);
      after = page.next;
      if (after === null) return rows;
    }
  }

  #decodeRun(run: RunView): Pick<RunPicture, "definedGraph" | "parts" | "graph" | "nodes"> {
    const { graph, nodes } = this.#decode(run);
    const parts = run.parts.map(decodePart);
    return { definedGraph: graph, parts, graph: withParts(graph, parts), nodes: withDefinitions(nodes, parts) };
  }

  #decode({ workflow, jobVersion, graph: bytes, definitions }: RunView): Decoded {
    const key = `${workflow} ${jobVersion}`;
    let decoded = this.#decoded.get(key);
    this.#decoded.delete(key);
    if (decoded === undefined) {
      const read = decodeGraph(bytes);
      invariant("graph" in read, `the graph of the workflow ${workflow} cannot be read`);
      decoded = { graph: read.graph, nodes: decodeNodes(definitions) };
    }
    this.#decoded.set(key, decoded);
    const [oldest] = this.#decoded.keys();
    if (this.#decoded.size > DECODED_MAX && oldest !== undefined) this.#decoded.delete(oldest);
    return decoded;
  }
}

/** Compensation of a run by its rows; null: it has not begun. @param rows executions of compensations */
function compensationIn(
  { outcome, kept }: RunView,
  nodes: readonly StoredNode[],
  progress: RunProgress,
  rows: readonly NodeSummary[],
): Compensation | null {
  if (outcome === null) return null;
  const numbered = rows.map(({ state, ofRun }) => ({ state, node: nodeOfCompensation(ofRun.node) }));
  const final = numbered.filter(({ state }) => isFinal(state));
  const ended = final.map(({ state, node }) => [node, state === "SUCCEEDED"] as const);
  const earlier = Array.from(keptCompensations(kept), (node) => [node, true] as const);
  const live = numbered.filter(({ state }) => !isFinal(state)).map(({ node }) => node);
  return Compensation.of(progress.graph, nodesToCompensate(progress, nodes), [...earlier, ...ended], live);
}

/** Progress of a run by rows of its nodes. */
export function pictureProgress(
  graph: WorkflowGraph,
  { kept, mapCounts }: Pick<RunView, "kept" | "mapCounts">,
  rows: readonly NodeSummary[],
  items: readonly ItemStates[],
  mode: RunProgress["mode"],
): RunProgress {
  const executions = rows.map(({ state, ofRun }) => ({ node: ofRun.node, item: null, state, branch: ofRun.branch }));
  return progressOf(graph, { kept, mapCounts, executions, items }, mode);
}

/** Mode of a run that is not final, as clients see it. */
export function shownMode({ mode, outcome }: Pick<RunView, "mode" | "outcome">): ShownMode {
  return outcome === null ? mode : "COMPENSATING";
}

/** Mode of the progress of a run with this mode. */
export function progressMode(mode: RunView["mode"]): RunProgress["mode"] {
  return mode === "EXPIRING" ? "CANCELLING" : mode;
}

/**
 * State of a node as clients see it. A READY node is PENDING: its execution is about to be created. In a run that has not
 * started it is BLOCKED.
 */
export function stateOfNode({ run, progress, executions }: RunPicture, node: number): NodeState {
  const state = progress.stateOf(node);
  if (state === "READY") return run.startedAt === null ? "BLOCKED" : "PENDING";
  if (state === "LIVE" && progress.graph.isMap(node)) return "RUNNING";
  return state === "LIVE" ? (executions.get(node)?.state ?? "PENDING") : state;
}

/** State of a node's compensation as clients see it; null: the run does not compensate the node, or not yet. */
export function stateOfCompensation({ compensation, compensations }: RunPicture, node: number): NodeState | null {
  const state = compensation?.stateOf(node) ?? null;
  if (state === "READY") return "PENDING";
  if (state === "LIVE") return compensations.get(node)?.state ?? "PENDING";
  return state === "FAILED" ? (compensations.get(node)?.state ?? "DEAD") : state;
}
