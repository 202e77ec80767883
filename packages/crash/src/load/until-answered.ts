import { MainspringError } from "@mainspring/sdk";
import { sleep } from "../clock.ts";

const PAUSE_MS = 200;

/** Asks again and again, over any outage, until the server says yes or no. Only for what may be asked twice. */
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

/** Nobody answered, or the answer is to ask later. */
export function isTransient(error: unknown): boolean {
  return error instanceof MainspringError && (error.code === "UNAVAILABLE" || error.code === "TOO_MANY_REQUESTS");
}
