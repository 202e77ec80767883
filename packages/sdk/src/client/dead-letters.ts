import type { DeadLetter, DeadLetterFilter, DeadLetterRun, SettledDeadLetter } from "./operator-types.ts";
import type { ReadOptions, Requests } from "./requests.ts";

const PATH = "/v1/dead-letters";

/** Executions that used up their budget. Every method throws `MainspringError`. */
export class DeadLetters {
  readonly #requests: Requests;

  constructor(requests: Requests) {
    this.#requests = requests;
  }

  /** Newest first, page by page as they are asked for. @param filter.limit how many are read at once; 1 to 1000 */
  list(filter: DeadLetterFilter & { limit?: number } = {}): AsyncGenerator<DeadLetter, void, undefined> {
    return this.#requests.pages<DeadLetter>(PATH, filter);
  }

  /**
   * Runs them again, each by a new execution. A letter is replayed once, however often it is asked. @param executionIds
   * up to 1,000
   */
  replay(executionIds: readonly string[], options: ReadOptions = {}): Promise<SettledDeadLetter[]> {
    return this.#settle("replay", executionIds, options);
  }

  /** Takes them off the list; they stay DEAD. @param executionIds up to 1,000 */
  discard(executionIds: readonly string[], options: ReadOptions = {}): Promise<SettledDeadLetter[]> {
    return this.#settle("discard", executionIds, options);
  }

  /** Runs all again that match; it goes on behind: `run` says how far it is. */
  replayAll(filter: DeadLetterFilter, options: ReadOptions = {}): Promise<DeadLetterRun> {
    return this.#requests.send("POST", `${PATH}/replay`, { filter }, true, options);
  }

  discardAll(filter: DeadLetterFilter, options: ReadOptions = {}): Promise<DeadLetterRun> {
    return this.#requests.send("POST", `${PATH}/discard`, { filter }, true, options);
  }

  run(runId: string, options: ReadOptions = {}): Promise<DeadLetterRun> {
    return this.#requests.get(`${PATH}/runs/${encodeURIComponent(runId)}`, options);
  }

  /** The client does not repeat it where the answer was lost: a repeat could not tell what the first one has created. */
  async #settle(does: "replay" | "discard", executionIds: readonly string[], options: ReadOptions) {
    const idempotent = does === "discard";
    const body = { executionIds };
    const answer = await this.#requests.send<{ items: SettledDeadLetter[] }>(
      ...(["POST", `${PATH}/${does}`, body, idempotent, options] as const),
    );
    return answer.items;
  }
}
