import type { Logger } from "pino";
import type { RequestLog, RequestLogWriter } from "../../ports/request-log.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { StoreIngest } from "../../ports/store-ingest.ts";

/** Refusals that are told at once. */
const AT_ONCE = 100;
/** Interval in ms of looks for refusals of nodes before this one, and of attempts after a failure. */
const LOOK_EVERY_MS = 30_000;

interface TellerDependencies {
  requestLog: Pick<RequestLog, "openWriter">;
  store: Pick<StoreIngest, "untold" | "told">;
  runtime: Runtime;
  log: Logger;
}

/** Tells the log of refused records, behind their transactions. A crash between two steps repeats a message; nothing loses one. */
export class RefusalTeller {
  readonly #deps: TellerDependencies;
  #writer: RequestLogWriter | null = null;
  #isWoken = false;
  #isStopped = false;
  #lookedMs = Number.NEGATIVE_INFINITY;
  #telling: Promise<void> | null = null;

  constructor(deps: TellerDependencies) {
    this.#deps = deps;
  }

  /** There are new refusals. */
  wake(): void {
    this.#isWoken = true;
  }

  /** Tells refusals of these partitions if there may be any, and does not wait for that. */
  look(partitions: readonly number[]): void {
    const nowMs = this.#deps.runtime.monotonicMs();
    const isDue = this.#isWoken || nowMs - this.#lookedMs >= LOOK_EVERY_MS;
    if (!isDue || this.#telling !== null || this.#isStopped) return;
    this.#isWoken = false;
    this.#lookedMs = nowMs;
    this.#telling = this.#tell(partitions).finally(() => {
      this.#telling = null;
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#writer?.close();
    await this.#telling;
  }

  async #tell(partitions: readonly number[]): Promise<void> {
    const { store, requestLog, log } = this.#deps;
    try {
      for (;;) {
        const refusals = await store.untold(partitions, AT_ONCE);
        if (refusals.length === 0 || this.#isStopped) return;
        this.#writer ??= await requestLog.openWriter();
        await this.#writer.tellRefused(refusals);
        await store.told(refusals);
      }
    } catch (error) {
      this.#writer?.close();
      this.#writer = null;
      if (!this.#isStopped) log.warn({ err: error }, "ingest: refused records could not be told of, retrying in 30 s");
    }
  }
}
