import type { Logger } from "pino";
import type { EpochMs } from "../../domain/ids.ts";
import type { Runtime, Timer } from "../../ports/runtime.ts";
import type { Retention, Store } from "../../ports/store.ts";

const EVERY_MS = 3_600_000;
const TRIM_EVERY_MS = 10_000;

/** Store that upkeep works on. */
type KeptStore = Pick<Store, "maintain"> & {
  /** Removes final executions beyond the bound of a store in memory; left out: the store has none. */
  trim?(now: EpochMs, retention: Retention): Promise<void>;
};

/**
 * Makes the store create partitions ahead of time and delete old data: now, and every hour. A store in memory is also kept below its bound,
 * every 10 s.
 * @returns a function that ends it
 */
export function keepUp(store: KeptStore, runtime: Runtime, log: Logger, retention: Retention): () => void {
  const ends = [
    repeated(runtime, EVERY_MS, async () => {
      await store.maintain(runtime.now(), retention).catch((error: unknown) => {
        log.warn({ err: error }, "the store's upkeep failed; the node tries again in an hour");
      });
    }),
  ];
  const trim = store.trim?.bind(store);
  if (trim !== undefined)
    ends.push(
      repeated(runtime, TRIM_EVERY_MS, async () => {
        await trim(runtime.now(), retention).catch((error: unknown) => {
          log.warn({ err: error }, "upkeep: final executions beyond the bound could not be removed, retrying in 10 s");
        });
      }),
    );
  return () => {
    for (const end of ends) end();
  };
}

/** Runs a round now and again an interval after the end of each. @returns a function that ends it */
function repeated(runtime: Runtime, everyMs: number, round: () => Promise<void>): () => void {
  let timer: Timer | null = null;
  let stopped = false;
  const run = async () => {
    await round();
    if (!stopped) timer = runtime.setTimer(everyMs, () => void run());
  };
  void run();
  return () => {
    stopped = true;
    timer?.cancel();
  };
}
