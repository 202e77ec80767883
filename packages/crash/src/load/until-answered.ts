import { MainspringError } from "@mainspring/sdk";
import { sleep } from "../clock.ts";

const PAUSE_MS = 200;

/** Repeats a request over any outage until the server answers yes or no. Only for requests that may be repeated. */
export async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isTransient(error)) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Whether no server answered, or the answer was to try later. */
export function isTransient(error: unknown): boolean {
  return error instanceof MainspringError && (error.code === "UNAVAILABLE" || error.code === "TOO_MANY_REQUESTS");
}
