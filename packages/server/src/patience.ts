import type { Logger } from "pino";
import { LeasesUnavailable } from "./ports/leases.ts";
import type { Runtime } from "./ports/runtime.ts";
import { StoreUnavailable } from "./ports/store.ts";

/** Time in ms that a start waits for a service that does not answer, and interval of its attempts. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 500;

/**
 * Opens a service with retries: one that starts together with the server, or that is being repaired, may need a moment.
 * @param name of the service, for the log
 * @throws {StoreUnavailable | LeasesUnavailable} the service did not answer in time
 */
export async function patiently<T>(
  name: string,
  open: () => Promise<T>,
  { runtime, log }: { runtime: Runtime; log: Logger },
): Promise<T> {
  const untilMs = runtime.monotonicMs() + PATIENCE_MS;
  for (;;) {
    try {
      return await open();
    } catch (error) {
      const leftMs = untilMs - runtime.monotonicMs();
      const passes = error instanceof StoreUnavailable || error instanceof LeasesUnavailable;
      if (!passes || leftMs <= 0) throw error;
      log.warn(
        { err: error, givingUpInSec: Math.ceil(leftMs / 1_000) },
        `the node waits for ${name}, which does not answer yet`,
      );
      await new Promise<void>((resolve) => runtime.setTimer(RETRY_MS, resolve));
    }
  }
}

export function passed(runtime: Runtime, delayMs: number): Promise<void> {
  return new Promise((resolve) => (delayMs === 0 ? resolve() : runtime.setTimer(delayMs, resolve)));
}
