import type { Logger } from "pino";
import { DEFAULT_TENANT, type ExecutionId } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import type { DeadLetterAction, DeadLetterFilter, DeadLetterRun, SettledLetter } from "../ports/store-dead-letters.ts";
import { hintRows } from "./hints.ts";

/** Letters that one transaction settles. */
export const CHUNK_LETTERS = 1_000;
/** How soon a run that a killed server or an outage has left behind is gone on with. */
const LOOK_EVERY_MS = 5_000;

export interface DeadLetterParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
}

/** Settles dead letters: some by their ids at once, all that a filter matches chunk by chunk, whoever is killed meanwhile. */
export class DeadLetterRuns {
  readonly #parts: DeadLetterParts;
  #timer: Timer | null = null;
  #isWorking = false;
  #isAskedAgain = false;
  #isClosed = false;

  constructor(parts: DeadLetterParts) {
    this.#parts = parts;
  }

  /** Goes on with what is not over, now and every few seconds. */
  start(): void {
    void this.#look();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** @param executionIds at most 1,000. @throws {StoreUnavailable} some of it may or may not have happened */
  async settle(action: DeadLetterAction, executionIds: readonly ExecutionId[]): Promise<SettledLetter[]> {
    const { store, runtime } = this.#parts;
    const newIds = executionIds.map(() => runtime.uuid());
    const at = runtime.now();
    const settled = await store.deadLetters.settle({ tenant: DEFAULT_TENANT, action, executionIds, newIds, at });
    await this.#hint(settled.map(({ newId }) => newId).filter((id) => id !== null));
    return settled;
  }

  /** Durable when it returns; the work itself goes on behind. @throws {StoreUnavailable} it may or may not go on */
  async begin(action: DeadLetterAction, filter: DeadLetterFilter): Promise<DeadLetterRun> {
    const { store, runtime } = this.#parts;
    const run = { runId: runtime.uuid(), tenant: DEFAULT_TENANT, action, filter, createdAt: runtime.now() };
    await store.deadLetters.begin(run);
    void this.#look();
    return { ...run, settled: 0, skipped: 0, finishedAt: null };
  }

  async #look(): Promise<void> {
    if (this.#isWorking) {
      this.#isAskedAgain = true;
      return;
    }
    this.#isWorking = true;
    this.#timer?.cancel();
    try {
      do {
        this.#isAskedAgain = false;
        for (const runId of await this.#parts.store.deadLetters.openRuns()) await this.#goOn(runId);
      } while (this.#isAskedAgain);
    } catch (error) {
      if (!this.#isClosed)
        this.#parts.log.warn({ err: error }, "the api could not go on with a run over dead letters and tries again");
    }
    this.#isWorking = false;
    if (!this.#isClosed) this.#timer = this.#parts.runtime.setTimer(LOOK_EVERY_MS, () => void this.#look());
  }

  async #goOn(runId: string): Promise<void> {
    const { store, runtime, log } = this.#parts;
    while (!this.#isClosed) {
      const newIds = Array.from({ length: CHUNK_LETTERS }, () => runtime.uuid());
      const advance = await store.deadLetters.advance(runId, newIds, runtime.now());
      if (advance === null) return;
      await this.#hint(advance.made);
      if (!advance.isOver) continue;
      log.info({ runId }, "the api has finished a run over dead letters");
      return;
    }
  }

  /** A hint only: without it they are found within a second. */
  async #hint(made: readonly ExecutionId[]): Promise<void> {
    if (made.length === 0) return;
    const rows = await this.#parts.store.load(made).catch(() => []);
    hintRows(
      this.#parts.bus,
      rows.map((row) => ({ row, payload: null })),
    );
  }
}
