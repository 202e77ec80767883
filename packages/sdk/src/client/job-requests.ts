import type { JobRequestState, JobRequestSummary, RequestState } from "./request-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

/**
 * Requests for jobs that came without the API, such as by `submitIn` in a transaction of an application. The server keeps those that it
 * has taken in for a day, and refused ones as long as executions. Every method throws `MainspringError`.
 */
export class JobRequests {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** @throws {MainspringError} NOT_FOUND: its transaction has not committed, or it is no longer kept */
  get(requestId: string, options: ReadOptions = {}): Promise<JobRequestState> {
    return this.#requests.get(`/v1/requests/${encodeURIComponent(requestId)}`, options);
  }

  /** Lists requests, the newest first. The client fetches each page when the caller gets to it. */
  list(filter: { state?: RequestState; limit?: number } = {}): AsyncGenerator<JobRequestSummary, void, undefined> {
    return this.#requests.pages<JobRequestSummary>("/v1/requests", filter);
  }
}
