import type { DeadLetter, DeadLetterFilter, DeadLetterRun, SettledDeadLetter } from "./operator-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

const PATH = "/v1/dead-letters";

/** Executions that failed too often (state DEAD). Every method throws `MainspringError`. */
export class DeadLetters {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /**
   * Lists dead letters, the newest first, page by page. @param filter.limit number of dead letters per page; 1 to 1000
   */
  list(filter: DeadLetterFilter & { limit?: number } = {}): AsyncGenerator<DeadLetter, void, undefined> {
    return this.#requests.pages<DeadLetter>(PATH, filter);
  }

  /**
   * Runs dead letters again, each as a new execution. The server replays a dead letter once, however often a client
   * asks. @param executionIds up to 1,000 ids
   */
  replay(executionIds: readonly string[], options: ReadOptions = {}): Promise<SettledDeadLetter[]> {
    return this.#settle("replay", executionIds, options);
  }

  /** Removes dead letters from the list; their executions stay DEAD. @param executionIds up to 1,000 ids */
  discard(executionIds: readonly string[], options: ReadOptions = {}): Promise<SettledDeadLetter[]> {
    return this.#settle("discard", executionIds, options);
  }

  /** Replays all dead letters that match the filter. The server does so in the background; `run` reads its progress. */
  replayAll(filter: DeadLetterFilter, options: ReadOptions = {}): Promise<DeadLetterRun> {
    return this.#requests.send("POST", `${PATH}/replay`, { filter }, true, options);
  }

  discardAll(filter: DeadLetterFilter, options: ReadOptions = {}): Promise<DeadLetterRun> {
    return this.#requests.send("POST", `${PATH}/discard`, { filter }, true, options);
  }

  run(runId: string, options: ReadOptions = {}): Promise<DeadLetterRun> {
    return this.#requests.get(`${PATH}/runs/${encodeURIComponent(runId)}`, options);
  }

  /**
   * The client does not retry this request when the answer is lost, because a second answer could not name the
   * executions that the first request created.
   */
  async #settle(does: "replay" | "discard", executionIds: readonly string[], options: ReadOptions) {
    const idempotent = does === "discard";
    const body = { executionIds };
    const answer = await this.#requests.send<{ items: SettledDeadLetter[] }>(
      ...(["POST", `${PATH}/${does}`, body, idempotent, options] as const),
    );
    return answer.items;
  }
}
