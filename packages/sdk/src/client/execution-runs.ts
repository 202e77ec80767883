import type { Runtime } from "../runtime.ts";
import type { ExecutionRunFilter } from "./api-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

const PATH = "/v1/execution-runs";

/** Number of executions that match a filter. */
export interface ExecutionCount {
  /** Executions that match, as far as counted: 0 to 10,000. */
  matching: number;
  /** Whether there may be more. A count ends at 10,000 executions, and where it would examine more than 10,000 rows. */
  hasMore: boolean;
}

/** Action of a run for each execution. */
export type ExecutionRunAction = "CANCEL" | "RETRY";

/** A cancellation or retry of all executions that match a filter. The servers carry it out in the background. */
export interface ExecutionRun {
  /** Id of the run. */
  runId: string;
  action: ExecutionRunAction;
  /** Filter that an execution must match. */
  filter: ExecutionRunFilter;
  /** State of the run. FINISHED: every matching execution has been handled. STOPPED: somebody ended the run before. */
  state: "RUNNING" | "FINISHED" | "STOPPED";
  /** Executions that matched at the start of the run; null: not counted. */
  expected: ExecutionCount | null;
  /** Number of executions cancelled, or asked to stop, or retried so far. */
  done: number;
  /** Number of executions that matched and were left as they are. */
  refused: number;
  /** Number of refused executions by the name of their problem, as `wrong-state` or `key-in-use`. */
  refusals: Record<string, number>;
  /** Start of the run. Executions that are created later are not part of the run. */
  createdAt: string;
  /** End of the run; null: the run has not ended. */
  finishedAt: string | null;
}

/** Options of the start of a run. */
export interface ExecutionRunOptions extends ReadOptions {
  /** Name of the run: another start with the same key and request returns the first run. 1 to 255 visible ASCII characters; default: a random one. */
  idempotencyKey?: string;
}

/** Cancels or retries all executions that match a filter. Every method throws `MainspringError`. */
export class ExecutionRuns {
  readonly #requests: Requests;
  readonly #runtime: Runtime;

  constructor(requests: Requests, runtime: Runtime) {
    this.#requests = requests;
    this.#runtime = runtime;
  }

  /** Counts the executions that a run would cancel or retry, up to 10,000, and changes nothing. */
  preview(action: ExecutionRunAction, filter: ExecutionRunFilter, options: ReadOptions = {}): Promise<ExecutionCount> {
    return this.#requests.send("POST", `${PATH}/preview`, { action, filter }, true, options);
  }

  /**
   * Starts to cancel all executions that match the filter and are not final, by the rules of `client.cancelExecution`. The
   * servers do so in the background; `get` reads the progress. @param filter.state PENDING, SCHEDULED or RUNNING; left out: all three
   */
  cancelAll(filter: ExecutionRunFilter, options: ExecutionRunOptions = {}): Promise<ExecutionRun> {
    return this.#start("CANCEL", filter, options);
  }

  /**
   * Starts to retry all final executions that match the filter, each as a new execution, by the rules of
   * `client.retryExecution`. The servers do so in the background; `get` reads the progress. @param filter.state final state, which
   * must be given
   */
  retryAll(filter: ExecutionRunFilter, options: ExecutionRunOptions = {}): Promise<ExecutionRun> {
    return this.#start("RETRY", filter, options);
  }

  /** Lists runs, the newest first, page by page. The server keeps a run for 7 days after its end. @param filter.limit number of runs per page; 1 to 1000 */
  list(filter: { limit?: number } = {}): AsyncGenerator<ExecutionRun, void, undefined> {
    return this.#requests.pages<ExecutionRun>(PATH, filter);
  }

  /** Reads how far a run is. */
  get(runId: string, options: ReadOptions = {}): Promise<ExecutionRun> {
    return this.#requests.get(`${PATH}/${encodeURIComponent(runId)}`, options);
  }

  /** Ends a run before its time. The server still finishes up to 100 executions in hand. A run that has ended stays as it is. */
  stop(runId: string, options: ReadOptions = {}): Promise<ExecutionRun> {
    return this.#requests.send("POST", `${PATH}/${encodeURIComponent(runId)}/stop`, undefined, true, options);
  }

  #start(action: ExecutionRunAction, filter: ExecutionRunFilter, options: ExecutionRunOptions): Promise<ExecutionRun> {
    const { idempotencyKey = this.#runtime.uuid(), ...rest } = options;
    const headers = { "idempotency-key": idempotencyKey };
    return this.#requests.send("POST", PATH, { action, filter }, true, { ...rest, headers });
  }
}
