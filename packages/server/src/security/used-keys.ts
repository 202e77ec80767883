import type { Logger } from "pino";
import type { EpochMs } from "../domain/ids.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { StoreKeys } from "../ports/store-keys.ts";

const MINUTE_MS = 60_000;

/** Brings the last uses of keys to the store, by the minute and all at once. */
export class UsedKeys {
  readonly #parts: { store: Pick<StoreKeys, "used">; runtime: Runtime; log: Logger };
  /** Minute of the last use that was noted, by key. */
  #noted = new Map<string, EpochMs>();
  #waiting = new Map<string, EpochMs>();
  #timer: Timer | null = null;

  constructor(parts: { store: Pick<StoreKeys, "used">; runtime: Runtime; log: Logger }) {
    this.#parts = parts;
  }

  note(id: string): void {
    const minute = Math.floor(this.#parts.runtime.now() / MINUTE_MS) * MINUTE_MS;
    if (this.#noted.get(id) === minute) return;
    this.#noted.set(id, minute);
    this.#waiting.set(id, minute);
    this.#timer ??= this.#parts.runtime.setTimer(MINUTE_MS, () => {
      this.#timer = null;
      void this.flush();
    });
  }

  /** Writes what waits. Never throws: a use that could not be written is lost, and a later one is not. */
  async flush(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const uses = Array.from(this.#waiting, ([id, at]) => ({ id, at }));
    this.#waiting = new Map();
    this.#noted = new Map(uses.map(({ id, at }) => [id, at]));
    if (uses.length === 0) return;
    try {
      await this.#parts.store.used(uses);
    } catch (error) {
      this.#parts.log.warn({ err: error, keys: uses.length }, "the node could not write when API keys were last used");
    }
  }
}
