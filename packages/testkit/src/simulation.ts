import {
  Client,
  type Execution,
  type ExecutionState,
  type JobHandle,
  type SentSignal,
  type SignalOptions,
  type Task,
  type WorkflowHandle,
  type WorkflowNodeState,
} from "@mainspring/sdk";
import type { WorkerLife } from "@mainspring/sdk/worker-core";
import type { ExecutionRow, StoreData } from "@mainspring/server/parts";
import { isFinal } from "@mainspring/server/parts";
import { type Duration, durationMs, durationText } from "./duration.ts";
import { type Enqueued, enqueuedOf } from "./enqueued.ts";
import type { HandlerFailure, Handlers } from "./handlers.ts";
import { localFetch, type Wait } from "./local-fetch.ts";
import type { LocalServer } from "./local-server.ts";
import type { Quiet } from "./quiet.ts";
import { RUN, runStoryOf } from "./run-story.ts";
import { type SimulatedNode, simulatedNode, statesOf } from "./simulated-nodes.ts";
import { type Able, stateOf, storyOf } from "./story.ts";
import type { Timekeeper } from "./timekeeper.ts";

/** State of an execution that a test can wait for. */
export type Awaited = Extract<ExecutionState, "RUNNING" | "SUCCEEDED" | "CANCELLED" | "SKIPPED" | "DEAD">;

export interface WaitForOptions {
  /** Longest simulated wait; default: one day. */
  within?: Duration;
}

export interface SimulatedClock {
  /** Present time, by the clock of the server and its workers. */
  now(): Date;
  /**
   * Moves the clock by a duration, and returns when everything that was due has been done. If handlers wait for
   * something real, the call waits for them in real time.
   * @param duration milliseconds, or a text such as `3 days`, `90s`, `1h 30m`; at most ten years
   */
  advance(duration: Duration): Promise<void>;
}

/** Thrown when an execution did not reach the expected state; the message lists the events of the execution. */
export class NotReached extends Error {
  override readonly name = "NotReached";
  /** The execution as it is now. */
  readonly execution: Execution;

  constructor(message: string, execution: Execution) {
    super(message);
    this.execution = execution;
  }
}

interface Parts {
  time: Timekeeper;
  quiet: Quiet;
  data: StoreData;
  handlers: Handlers;
  server: LocalServer;
  workers: readonly WorkerLife[];
  able: Able;
}

const DAY_MS = 86_400_000;
/** Time limit of one request, in milliseconds: longer than the longest wait that the server allows in one request. */
const REQUEST_MAX_MS = 61_000;

/** A simulated Mainspring for one test, created by `simulate`. */
export class Simulation implements AsyncDisposable {
  /**
   * Client for the code under test, and for tests. The server answers requests while the clock stands. A wait for a
   * result (`handle.result()`) lets as much time pass as the result takes, at most a day.
   */
  readonly client: Client;
  readonly clock: SimulatedClock;
  readonly #parts: Parts;
  /** Time since which the client waits for an execution, by execution id. */
  readonly #waitedSince = new Map<string, number>();

  constructor(parts: Parts) {
    const { time, server } = parts;
    this.#parts = parts;
    this.clock = {
      now: () => new Date(time.now()),
      advance: async (duration) => time.drive(durationMs("advance", duration)),
    };
    const fetch = localFetch(server.api, (wait) => this.#answered(wait));
    this.client = new Client({ url: "http://localhost", fetch, runtime: time.runtime("client") });
  }

  /**
   * All errors that handlers threw, in the order in which they were thrown, except those of attempts that were suspended.
   */
  get failures(): readonly HandlerFailure[] {
    return this.#parts.handlers.failures;
  }

  /**
   * Executions of a task that have not started, in the order of the submits. Executions that wait for their time or for
   * another attempt are included, and those whose handlers sleep or wait for signals. Nothing starts while the clock stands.
   * @param task task, or its name
   */
  enqueued<P>(task: Task<P, unknown> | string): Enqueued<P>[] {
    const { data, handlers } = this.#parts;
    return enqueuedOf<P>(data, typeof task === "string" ? task : task.name, (id) => handlers.runs(id));
  }

  /**
   * Sends a signal to an execution, as `client.signalExecution` does. The clock stands meanwhile: the handler goes on when
   * the clock moves.
   * @param data JSON of at most 64 KiB; left out: none
   */
  async signal(
    job: JobHandle | string,
    name: string,
    data?: unknown,
    options: SignalOptions = {},
  ): Promise<SentSignal> {
    return this.client.signalExecution(idOf(job), name, data, options);
  }

  /**
   * Lets time pass until the execution, or the run of a workflow, is in a state.
   * @param state state to wait for; default SUCCEEDED
   * @returns the execution
   * @throws {NotReached} the execution became final in another state, did not reach the state in time, or nothing is left that could change its state
   */
  async waitFor<R = unknown>(
    job: JobHandle<R> | WorkflowHandle<R> | string,
    state: Awaited = "SUCCEEDED",
    options: WaitForOptions = {},
  ): Promise<Execution<R>> {
    const { time, quiet, handlers } = this.#parts;
    const id = idOf(job);
    const withinMs = durationMs("within", options.within ?? DAY_MS);
    const before = await this.client.getExecution<R>(id);
    const beganMs = time.nowMs;
    const isThere = () => stateOf(this.#row(id), handlers.runs(id)) === state;
    await time.drive(withinMs, () => isThere() || isFinal(this.#row(id).state) || quiet.isOver(time.nowMs));
    const reached = isThere();
    const execution = await this.client.getExecution<R>(before.executionId);
    if (reached) return execution;
    const passed = `after ${durationText(time.nowMs - beganMs)} of simulated time`;
    throw new NotReached(`expected ${state} ${passed}, but ${await this.#story(id)}`, execution);
  }

  /**
   * Reads the states of the nodes of a run, in the order of the workflow. A run has nothing but BLOCKED nodes until the clock
   * moves and its first nodes start.
   */
  states(run: WorkflowHandle | string): Promise<Record<string, WorkflowNodeState>> {
    return statesOf(this.client, idOf(run));
  }

  /**
   * Reads a node of a run: its state, branch and error, and its result and attempts.
   * @throws {Error} there is no such node
   */
  node(run: WorkflowHandle | string, name: string): Promise<SimulatedNode> {
    return simulatedNode(this.client, idOf(run), name);
  }

  /**
   * Stops the workers and the server. Handlers that still run have their `ctx.signal` aborted. Repeated calls do
   * nothing.
   */
  async stop(): Promise<void> {
    const { time, server, workers } = this.#parts;
    await Promise.all(workers.map((worker) => worker.stop({ timeoutMs: 0 })));
    await server.stop();
    time.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Called when a client waits for a result: lets time pass until there is one, unless a handler is the client. */
  async #answered({ executionId, answer }: Wait): Promise<Response | null> {
    const { time, quiet, handlers } = this.#parts;
    const sinceMs = this.#waitedSince.get(executionId) ?? time.nowMs;
    this.#waitedSince.set(executionId, sinceMs);
    if (handlers.isCalling) {
      await handlers.waiting(answer);
      return null;
    }
    let isAnswered = false;
    const answered = () => {
      isAnswered = true;
    };
    answer.then(answered, answered);
    const isTooLong = () => time.nowMs - sinceMs >= DAY_MS || quiet.isOver(time.nowMs);
    try {
      await time.drive(REQUEST_MAX_MS, () => isAnswered || isTooLong());
    } catch (error) {
      return failed((error as Error).message);
    }
    if (isAnswered || !isTooLong()) return null;
    this.#waitedSince.delete(executionId);
    const passed = durationText(time.nowMs - sinceMs);
    return failed(`nothing came of waiting for ${passed} of simulated time: ${await this.#story(executionId)}`);
  }

  async #story(id: string): Promise<string> {
    const { data, able, handlers } = this.#parts;
    const [row, teller] = [this.#row(id), { data, able, runs: (other: string) => handlers.runs(other) }];
    return row.node === RUN ? runStoryOf(this.client, id, teller) : storyOf(row, teller);
  }

  #row(id: string): ExecutionRow {
    return this.#parts.data.executions.get(id) as ExecutionRow;
  }
}

function idOf(job: JobHandle | WorkflowHandle | string): string {
  if (typeof job === "string") return job.toLowerCase();
  return ("workflowId" in job ? job.workflowId : job.executionId).toLowerCase();
}

/** Answer to the client when the simulation cannot go on. The client does not retry after this answer. */
function failed(detail: string): Response {
  const body = JSON.stringify({ type: "about:blank", title: "The simulation cannot go on", status: 500, detail });
  return new Response(body, { status: 500, headers: { "content-type": "application/problem+json" } });
}
