import { type Runtime, sleep } from "../runtime.ts";
import type { RecurringWorkflowRequest, WorkflowRequest } from "../workflows/workflow-requests.ts";
import { type ExecutionState, FINAL_STATES } from "./api-types.ts";
import { type FollowOptions, follow } from "./follow.ts";
import { headerValue } from "./headers.ts";
import type { Http } from "./http.ts";
import type { ReadOptions, Requests } from "./requests.ts";
import type { SentSignal, SignalOptions } from "./step-types.ts";
import { type SubmitOptions, traceHeaders } from "./submit-options.ts";
import { workflowEvents } from "./workflow-events.ts";
import type {
  DeduplicatedWorkflow,
  NodeExplanation,
  PlannedWorkflow,
  ResultsOptions,
  RetriedWorkflow,
  SubmittedWorkflow,
  Workflow,
  WorkflowEvent,
  WorkflowFilter,
  WorkflowGraph,
  WorkflowItem,
  WorkflowNode,
  WorkflowNodeState,
  WorkflowResult,
  WorkflowSummary,
} from "./workflow-types.ts";

const PATH = "/v1/workflows";
/** Longest time that the server holds back the answer to one request, in seconds. */
const WAIT_MAX_SEC = 60;
/** Shortest time between two requests of a wait, in milliseconds. */
const ASK_EVERY_MS = 1_000;

/** Workflows: graphs of handlers. Every method throws `MainspringError`. */
export class Workflows {
  readonly #http: Pick<Http, "send" | "open">;
  readonly #requests: Requests;
  readonly #runtime: Runtime;

  constructor(http: Pick<Http, "send" | "open">, requests: Requests, runtime: Runtime) {
    this.#http = http;
    this.#requests = requests;
    this.#runtime = runtime;
  }

  /** Submits a workflow, which starts at once if nothing holds it back. The client's own retries start one run. */
  submit(workflow: WorkflowRequest, options: SubmitOptions = {}): Promise<SubmittedWorkflow | DeduplicatedWorkflow> {
    return this.#send<SubmittedWorkflow | DeduplicatedWorkflow>(workflow, options);
  }

  /**
   * Submits a workflow that recurs: its job starts a run at each planned instant. The methods of the client for recurring
   * jobs pause, resume, backfill and delete the job and read its ledger.
   */
  schedule(workflow: RecurringWorkflowRequest, options: SubmitOptions = {}): Promise<PlannedWorkflow> {
    return this.#send<PlannedWorkflow>(workflow, options);
  }

  async #send<Answer>(workflow: WorkflowRequest | RecurringWorkflowRequest, options: SubmitOptions): Promise<Answer> {
    const idempotencyKey = headerValue("idempotencyKey", options.idempotencyKey ?? this.#runtime.uuid());
    const request = { method: "POST", path: PATH, body: workflow, idempotent: false, idempotencyKey } as const;
    const { body } = await this.#http.send({ ...request, headers: traceHeaders(options), signal: options.signal });
    return body as Answer;
  }

  /**
   * Reads a run.
   * @param options.waitSec 0 to 60: the server answers when the run is final, or after this many seconds
   */
  get(workflowId: string, options: ReadOptions & { waitSec?: number } = {}): Promise<Workflow> {
    const { waitSec = 0, ...rest } = options;
    const query = waitSec > 0 ? `?waitSec=${waitSec}` : "";
    return this.#requests.get(pathOf(workflowId) + query, { ...rest, waitMs: waitSec * 1_000 });
  }

  /** Waits until the run is final, without a time limit, and returns it. The signal ends the wait. */
  async waitFor(workflowId: string, options: ReadOptions = {}): Promise<Workflow> {
    for (;;) {
      const askedMs = this.#runtime.monotonicMs();
      const workflow = await this.get(workflowId, { ...options, waitSec: WAIT_MAX_SEC });
      if (FINAL_STATES.includes(workflow.state)) return workflow;
      const earlyMs = ASK_EVERY_MS - (this.#runtime.monotonicMs() - askedMs);
      if (earlyMs > 0) await sleep(this.#runtime, earlyMs, options.signal);
      options.signal?.throwIfAborted();
    }
  }

  /**
   * Streams the events of a run until the run is final: the run itself when its mode or state changes, or when it is
   * paused or resumed, and nodes when their states change. When the stream breaks, the client opens a new one that continues after the last event.
   * @throws {MainspringError} UNAVAILABLE if no server has answered for `giveUpAfterSec` (default: 300)
   */
  follow(workflowId: string, options: FollowOptions = {}): AsyncGenerator<WorkflowEvent, void, undefined> {
    return follow(this.#http, this.#runtime, `${pathOf(workflowId)}/events`, options, workflowEvents());
  }

  /** Lists runs, the newest first. The client fetches each page when the caller gets to it. */
  list(filter: WorkflowFilter = {}): AsyncGenerator<WorkflowSummary, void, undefined> {
    return this.#requests.pages<WorkflowSummary>(PATH, filter);
  }

  /** Lists the nodes of a run in the order of its definition, page by page. */
  nodes(
    workflowId: string,
    filter: { state?: WorkflowNodeState; limit?: number } = {},
  ): AsyncGenerator<WorkflowNode, void, undefined> {
    return this.#requests.pages<WorkflowNode>(`${pathOf(workflowId)}/nodes`, filter);
  }

  /** Lists the items of a map that have an execution in the run, in their order, page by page. @param node name of the map */
  items(
    workflowId: string,
    node: string,
    filter: { state?: ExecutionState; limit?: number } = {},
  ): AsyncGenerator<WorkflowItem, void, undefined> {
    return this.#requests.pages<WorkflowItem>(`${pathOf(workflowId)}/nodes/${encodeURIComponent(node)}/items`, filter);
  }

  /**
   * Reads the results of a map in the order of its items, also those that a retry keeps from earlier runs, page by page: a
   * page has at most 1,000 results, and no further one after 4 MiB. A handler that gets more results than a payload takes reads
   * them so; `client.getExecution(ctx.executionId)` tells it the run.
   * @param node name of the map
   * @throws {MainspringError} NOT_FOUND: there is no such run or node. CONFLICT: the node is no map
   */
  async *results<R = unknown>(
    workflowId: string,
    node: string,
    { from = 0, limit, signal }: ResultsOptions = {},
  ): AsyncGenerator<WorkflowResult<R>, void, undefined> {
    const headers = { accept: "application/x-ndjson, application/problem+json" };
    for (let next = from; ; ) {
      const query = new URLSearchParams({
        node,
        from: String(next),
        ...(limit !== undefined && { limit: String(limit) }),
      });
      const request = {
        method: "GET",
        path: `${pathOf(workflowId)}/results?${query}`,
        headers,
        idempotent: true,
      } as const;
      const lines = ((await this.#http.send({ ...request, answer: "text", signal })).body as string).split("\n");
      for (const line of lines) if (line !== "") yield JSON.parse(line) as WorkflowResult<R>;
      // The text ends with a line break.
      if (lines.length === 1) return;
      next += lines.length - 1;
    }
  }

  /** Reads the graph of a run, with the states of its nodes. */
  graph(workflowId: string, options: ReadOptions = {}): Promise<WorkflowGraph> {
    return this.#requests.get(`${pathOf(workflowId)}/graph`, options);
  }

  /** Reads the graph of a run as a text for Mermaid or Graphviz. */
  async graphText(workflowId: string, format: "mermaid" | "dot", options: ReadOptions = {}): Promise<string> {
    const path = `${pathOf(workflowId)}/graph?format=${format}`;
    const headers = { accept: "text/plain, text/vnd.graphviz, application/problem+json" };
    const request = { method: "GET", path, headers, answer: "text", idempotent: true } as const;
    return (await this.#http.send({ ...request, signal: options.signal })).body as string;
  }

  /** Lists every reason why a node waits. */
  explain(workflowId: string, node: string, options: ReadOptions = {}): Promise<NodeExplanation> {
    return this.#requests.get(`${pathOf(workflowId)}/nodes/${encodeURIComponent(node)}/explain`, options);
  }

  /**
   * Cancels a run.
   * @returns CANCELLED: the run is final. REQUESTED: it ends when workers have stopped its nodes
   * @throws {MainspringError} CONFLICT if the run is final in another state
   */
  async cancel(workflowId: string, options: ReadOptions = {}): Promise<"CANCELLED" | "REQUESTED"> {
    const path = `${pathOf(workflowId)}/cancel`;
    const answer = await this.#http.send({ method: "POST", path, idempotent: true, signal: options.signal });
    return answer.status === 202 ? "REQUESTED" : "CANCELLED";
  }

  /**
   * Runs a part of a final run again, as a new run that keeps the results of all other nodes. The client's own retries
   * start one run.
   * @param options.from FAILED (default): the nodes that have not succeeded, and all that depend on them; or names of
   * further nodes
   * @throws {MainspringError} CONFLICT if the run is not final, or if no part of it would run again
   */
  async retry(
    workflowId: string,
    options: SubmitOptions & { from?: "FAILED" | readonly string[] } = {},
  ): Promise<RetriedWorkflow> {
    const { from, signal } = options;
    const idempotencyKey = headerValue("idempotencyKey", options.idempotencyKey ?? this.#runtime.uuid());
    const request = { method: "POST", path: `${pathOf(workflowId)}/retry`, idempotent: false, idempotencyKey } as const;
    const { body } = await this.#http.send({ ...request, body: from === undefined ? {} : { from }, signal });
    return body as RetriedWorkflow;
  }

  /**
   * Pauses a run: no node of it starts until it is resumed. Attempts that run go on to their ends, and the time of the run
   * goes on. Pausing a paused run changes nothing.
   * @returns PAUSED: it is durable that no node starts. REQUESTED: the server has yet to do it
   * @throws {MainspringError} CONFLICT if the run is final or about to end
   */
  async pause(workflowId: string, options: ReadOptions = {}): Promise<"PAUSED" | "REQUESTED"> {
    return (await this.#order(workflowId, "pause", options)) ? "PAUSED" : "REQUESTED";
  }

  /**
   * Resumes a run. Resuming a run that is not paused changes nothing.
   * @returns RESUMED: the run is not paused. REQUESTED: the server has yet to do it
   * @throws {MainspringError} CONFLICT if the run is final or about to end
   */
  async resume(workflowId: string, options: ReadOptions = {}): Promise<"RESUMED" | "REQUESTED"> {
    return (await this.#order(workflowId, "resume", options)) ? "RESUMED" : "REQUESTED";
  }

  /**
   * Sends a signal to a node that is not final. The step of its handler that waits for the name, now or later
   * (`ctx.step.waitForSignal`), consumes the signal. The signal is kept when the node has no execution yet. The client
   * retries, and the signal is accepted once.
   * @param node name of the node
   * @param name name of the signal, 1 to 128 characters
   * @param data JSON of at most 64 KiB; left out: none
   * @throws {MainspringError} NOT_FOUND: there is no such run or node. CONFLICT: the node is final or SKIPPED, 1,000 of its
   * signals wait for a step, or the id belongs to a signal with another name or other data
   */
  signal(
    workflowId: string,
    node: string,
    name: string,
    data?: unknown,
    options: SignalOptions = {},
  ): Promise<SentSignal> {
    const { id = this.#runtime.uuid(), ...rest } = options;
    const body = data === undefined ? { name, id } : { name, id, data };
    const path = `${pathOf(workflowId)}/nodes/${encodeURIComponent(node)}/signals`;
    return this.#requests.send("POST", path, body, true, rest);
  }

  /** @returns whether it is done */
  async #order(workflowId: string, order: "pause" | "resume", { signal }: ReadOptions): Promise<boolean> {
    const path = `${pathOf(workflowId)}/${order}`;
    return (await this.#http.send({ method: "POST", path, idempotent: true, signal })).status !== 202;
  }
}

function pathOf(workflowId: string): string {
  return `${PATH}/${encodeURIComponent(workflowId)}`;
}
