import type { ExecutionId, JobId, ShardId } from "../../../domain/ids.ts";
import type { KeptNodes } from "../../../domain/workflow/kept-nodes.ts";
import type { MapCount } from "../../../domain/workflow/map-counts.ts";
import type { NewPart, NodePayload, RunMode, RunOutcome } from "../../../ports/store-runs.ts";

/** A row of the simulated table. Rows are replaced, never changed. */
export interface RunRow {
  readonly run: ExecutionId;
  readonly shard: ShardId;
  readonly revision: number;
  readonly mode: RunMode;
  /** Run that this one retries; null: it is no retry. */
  readonly retryOf: ExecutionId | null;
  readonly kept: readonly KeptNodes[];
  readonly paused: boolean;
  readonly outcome: RunOutcome | null;
  readonly mapCounts: readonly MapCount[];
  /** Id of the sub-workflow; null: the run is that of a job. */
  readonly workflow: JobId | null;
}

/** A version of a workflow. */
export interface GraphRow {
  readonly nodes: number;
  readonly graph: Uint8Array;
  readonly definitions: Uint8Array;
  readonly payloads: readonly NodePayload[];
  readonly output: Uint8Array | null;
  /** Job of the workflow that has this one as a sub-workflow; null: the workflow is that of a job. */
  readonly ofJob: JobId | null;
}

/** Runs of workflows by id, and graphs with the payloads of their nodes by job and version. */
export class RunTable {
  readonly #runs: Map<ExecutionId, RunRow>;
  readonly #graphs: Map<JobId, Map<number, GraphRow>>;
  /** Parts of runs, by the number of their first node. */
  readonly #parts: Map<ExecutionId, readonly NewPart[]>;

  constructor(
    runs: Iterable<[ExecutionId, RunRow]> = [],
    graphs: Iterable<[JobId, Map<number, GraphRow>]> = [],
    parts: Iterable<[ExecutionId, readonly NewPart[]]> = [],
  ) {
    this.#runs = new Map(runs);
    this.#graphs = new Map(Array.from(graphs, ([jobId, versions]) => [jobId, new Map(versions)]));
    this.#parts = new Map(parts);
  }

  /** A copy of the table with the same rows. */
  copy(): RunTable {
    return new RunTable(this.#runs, this.#graphs, this.#parts);
  }

  get(run: ExecutionId): RunRow | undefined {
    return this.#runs.get(run);
  }

  all(): Iterable<RunRow> {
    return this.#runs.values();
  }

  /** Retries of a run, the newest first. */
  retriesOf(run: ExecutionId): ExecutionId[] {
    const retries = [...this.#runs.values()].filter(({ retryOf }) => retryOf === run);
    return retries.map((row) => row.run).sort((a, b) => (a < b ? 1 : -1));
  }

  put(row: RunRow): void {
    this.#runs.set(row.run, row);
  }

  remove(run: ExecutionId): void {
    this.#runs.delete(run);
    this.#parts.delete(run);
  }

  addPart(part: NewPart): void {
    const parts = [...this.partsOf(part.run), part];
    this.#parts.set(
      part.run,
      parts.sort((a, b) => a.first - b.first),
    );
  }

  partsOf(run: ExecutionId): readonly NewPart[] {
    return this.#parts.get(run) ?? [];
  }

  isWorkflow(jobId: JobId): boolean {
    return this.#graphs.has(jobId);
  }

  graphOf(jobId: JobId, version: number): GraphRow | undefined {
    return this.#graphs.get(jobId)?.get(version);
  }

  putGraph(jobId: JobId, version: number, graph: GraphRow): void {
    this.#graphs.set(jobId, new Map(this.#graphs.get(jobId)).set(version, graph));
  }

  removeGraphs(jobId: JobId): void {
    for (const [id, versions] of this.#graphs) {
      if (id === jobId || [...versions.values()].some(({ ofJob }) => ofJob === jobId)) this.#graphs.delete(id);
    }
  }
}
