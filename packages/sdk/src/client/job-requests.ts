import { type Runtime, sleep } from "../runtime.ts";
import { errorOfProblem } from "./problem.ts";
import type { JobRequestState, JobRequestSummary, RequestState } from "./request-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

/** Pause between two looks at a request that is not decided, in milliseconds. */
const LOOK_EVERY_MS = 100;

/**
 * Requests for jobs that came without the API, such as by `submitIn` in a transaction of an application. The server keeps those that it
 * has taken in for a day, and refused ones as long as executions. Every method throws `MainspringError`.
 */
export class JobRequests {
  readonly #requests: Requests;
  readonly #runtime: Runtime;

  constructor(requests: Requests, runtime: Runtime) {
    this.#requests = requests;
    this.#runtime = runtime;
  }

  /** @throws {MainspringError} NOT_FOUND: its transaction has not committed, or it is no longer kept */
  get(requestId: string, options: ReadOptions = {}): Promise<JobRequestState> {
    return this.#requests.get(`/v1/requests/${encodeURIComponent(requestId)}`, options);
  }

  /**
   * Waits until a server has taken a request in, without a time limit. The signal ends the wait.
   * @returns the request with the ids of its job: an earlier one, where that has the same idempotency key or unique key
   * @throws {MainspringError} the reason why the request was refused, as the error of a submit
   */
  async takenIn(requestId: string, options: ReadOptions = {}): Promise<JobRequestState> {
    for (;;) {
      const request = await this.get(requestId, options);
      if (request.problem !== null) throw errorOfProblem(request.problem);
      if (request.state === "TAKEN_IN") return request;
      await sleep(this.#runtime, LOOK_EVERY_MS, options.signal);
      options.signal?.throwIfAborted();
    }
  }

  /**
   * Lists requests, the newest first. The client fetches each page when the caller gets to it.
   * @param filter.source KAFKA: records of Kafka that were refused, with `state: "REFUSED"`; left out: requests of transactions
   */
  list(
    filter: { source?: JobRequestSummary["source"]; state?: RequestState; limit?: number } = {},
  ): AsyncGenerator<JobRequestSummary, void, undefined> {
    return this.#requests.pages<JobRequestSummary>("/v1/requests", filter);
  }
}
