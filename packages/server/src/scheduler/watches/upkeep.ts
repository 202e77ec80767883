import type { Logger } from "pino";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Retention, Store } from "../../ports/store.ts";

const EVERY_MS = 3_600_000;

/**
 * Makes the store create partitions ahead of time and delete old data: now, and every hour.
 * @returns a function that ends it
 */
export function keepUp(store: Store, runtime: Runtime, log: Logger, retention: Retention): () => void {
  let timer: Timer | null = null;
  let stopped = false;
  const round = async () => {
    try {
      await store.maintain(runtime.now(), retention);
    } catch (error) {
      log.warn({ err: error }, "the store's upkeep failed; the node tries again in an hour");
    }
    if (!stopped) timer = runtime.setTimer(EVERY_MS, () => void round());
  };
  void round();
  return () => {
    stopped = true;
    timer?.cancel();
  };
}
