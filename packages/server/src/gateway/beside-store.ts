import type { Logger } from "pino";
import type { ExecutionId, Incarnation } from "../domain/ids.ts";
import { CountedWarnings } from "../ports/counted-warnings.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import { CANCELS_KEPT_MS, IndexUnavailable, type SideIndex } from "../ports/side-index.ts";
import type { Gateway } from "./gateway.ts";

/** Interval in ms at which a gateway writes the statuses of its workers into the index. */
const WRITE_EVERY_MS = 10_000;
/** Interval in ms at which a gateway asks the index for cancellations. */
const CANCELS_EVERY_MS = 1_000;

interface BesideStoreOptions {
  node: Incarnation;
  gateway: Pick<Gateway, "statuses" | "stopAttempts">;
  index: SideIndex;
  runtime: Runtime;
  log: Logger;
}

/** Use of the index beside the store by a gateway, which writes the statuses of its workers and reads cancellations. */
export class BesideStore {
  readonly #options: BesideStoreOptions;
  readonly #warnings: CountedWarnings;
  readonly #timers = new Set<Timer>();
  #isStopped = false;
  #version: string | null = null;
  #cancels: ReadonlySet<ExecutionId> = new Set();

  constructor(options: BesideStoreOptions) {
    this.#options = options;
    this.#warnings = new CountedWarnings(options.log, options.runtime);
  }

  start(): void {
    void this.#repeat(WRITE_EVERY_MS, () => this.#write());
    void this.#repeat(CANCELS_EVERY_MS, () => this.#stopAsked());
  }

  /** Ends the work, and removes the entry of the gateway, whose workers go to another one in order. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const timer of this.#timers) timer.cancel();
    const { index, node } = this.#options;
    await this.#unless(() => index.workers.forget(node));
  }

  async #repeat(everyMs: number, act: () => Promise<void>): Promise<void> {
    if (this.#isStopped) return;
    await this.#unless(act);
    const timer = this.#options.runtime.setTimer(everyMs, () => {
      this.#timers.delete(timer);
      void this.#repeat(everyMs, act);
    });
    this.#timers.add(timer);
  }

  async #write(): Promise<void> {
    const { index, gateway, node } = this.#options;
    await index.workers.write(node, gateway.statuses());
  }

  async #stopAsked(): Promise<void> {
    const { index, gateway, runtime } = this.#options;
    const found = await index.cancels.read(this.#version);
    if (found !== null) {
      const oldest = runtime.now() - CANCELS_KEPT_MS;
      this.#version = found.version;
      this.#cancels = new Set(
        found.cancels.flatMap(({ executionId, askedAt }) => (askedAt < oldest ? [] : [executionId])),
      );
    }
    // Attempts that have come since the last look are among them, too.
    if (this.#cancels.size > 0) gateway.stopAttempts(this.#cancels);
  }

  /** Goes on without the index while it is away; its adapter says so once. */
  async #unless(act: () => Promise<void>): Promise<void> {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof IndexUnavailable))
        this.#warnings.warn({ err: error }, "the gateway could not use the index beside the store");
    }
  }
}
