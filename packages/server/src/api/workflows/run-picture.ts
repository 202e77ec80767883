import type { NodeState } from "@mainspring/contract/enums";
import { isFinal } from "../../domain/execution.ts";
import { DEFAULT_TENANT, type ExecutionId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { StoredNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { decodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { type KeptNode, keptByNode, keptOutcomes } from "../../domain/workflow/kept-nodes.ts";
import { RunProgress } from "../../domain/workflow/readiness.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import type { NodeSummary, RunView } from "../../ports/store-runs.ts";
import { decodeNodes } from "../../ports/stored-nodes.ts";
import type { LiveView, Overlaid } from "../executions/live.ts";

/** Definitions of workflows that stay decoded. */
const DECODED_MAX = 8;
/** Rows that one read of the store brings. */
const PAGE_ROWS = 1_000;

interface Decoded {
  graph: WorkflowGraph;
  nodes: readonly StoredNode[];
}

/** A run with all of its nodes, as rows and owners show them. Nodes are numbers. */
export interface RunPicture extends Decoded {
  run: RunView;
  /** Executions of nodes that have one. */
  executions: ReadonlyMap<number, Overlaid<NodeSummary>>;
  progress: RunProgress;
  /** Nodes that the run, a retry, keeps from earlier runs, by number. */
  kept: ReadonlyMap<number, KeptNode>;
}

/** Reads runs of workflows. */
export class RunReader {
  readonly #queries: StoreQueries;
  readonly #live: LiveView;
  /** Definitions by job and version; the one that was used last is at the end. */
  readonly #decoded = new Map<string, Decoded>();

  constructor(queries: StoreQueries, live: LiveView) {
    this.#queries = queries;
    this.#live = live;
  }

  /** Reads a run without its nodes. @throws {StoreUnavailable} */
  read(id: ExecutionId): Promise<RunView | null> {
    return this.#queries.getRun(DEFAULT_TENANT, id);
  }

  /** Reads a run and all of its nodes. @throws {StoreUnavailable} */
  async picture(id: ExecutionId): Promise<RunPicture | null> {
    const run = await this.read(id);
    if (run === null) return null;
    const rows = await this.#rows(id);
    const { graph, nodes } = this.#decode(run);
    // A run that has ended without a start has passed over all of its nodes.
    const mode = run.startedAt === null && isFinal(run.state) ? "CANCELLING" : progressMode(run.mode);
    const progress = RunProgress.of(graph, outcomesOf(run.kept, rows), liveOf(rows), mode);
    const executions = new Map((await this.#live.overlay(rows)).map((row) => [row.ofRun.node, row]));
    return { run, graph, nodes, progress, kept: keptByNode(run.kept), executions };
  }

  /** Name of the first node with a concurrency key; null: none has one. */
  firstKeyedNode(run: RunView): string | null {
    return this.#decode(run).nodes.find(({ concurrencyKey }) => concurrencyKey !== undefined)?.name ?? null;
  }

  /** Name of a node; null: the run is gone. @throws {StoreUnavailable} */
  async nameOf(id: ExecutionId, node: number): Promise<string | null> {
    const run = await this.read(id);
    return run === null ? null : (this.#decode(run).nodes[node]?.name ?? null);
  }

  async #rows(run: ExecutionId): Promise<NodeSummary[]> {
    const rows: NodeSummary[] = [];
    for (let after: string | null = null; ; ) {
      const page = await this.#queries.listNodes(DEFAULT_TENANT, run, {}, { after, limit: PAGE_ROWS });
      for (const row of page.items) rows.push(row);
      after = page.next;
      if (after === null) return rows;
    }
  }

  #decode({ jobId, jobVersion, graph: bytes, definitions }: RunView): Decoded {
    const key = `${jobId} ${jobVersion}`;
    let decoded = this.#decoded.get(key);
    this.#decoded.delete(key);
    if (decoded === undefined) {
      const read = decodeGraph(bytes);
      invariant("graph" in read, `the graph of the workflow ${jobId} cannot be read`);
      decoded = { graph: read.graph, nodes: decodeNodes(definitions) };
    }
    this.#decoded.set(key, decoded);
    const [oldest] = this.#decoded.keys();
    if (this.#decoded.size > DECODED_MAX && oldest !== undefined) this.#decoded.delete(oldest);
    return decoded;
  }
}

/** @param kept nodes of earlier runs */
export function* outcomesOf(
  kept: RunView["kept"],
  rows: readonly NodeSummary[],
): Generator<Parameters<RunProgress["ended"]>> {
  yield* keptOutcomes(kept);
  for (const { state, ofRun } of rows) if (isFinal(state)) yield [ofRun.node, { state, branch: ofRun.branch }];
}

function* liveOf(rows: readonly NodeSummary[]): Generator<number> {
  for (const { state, ofRun } of rows) if (!isFinal(state)) yield ofRun.node;
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
  return state === "LIVE" ? (executions.get(node)?.state ?? "PENDING") : state;
}
