import { setTimeout as pause } from "node:timers/promises";

/**
 * Pause between two reads, in milliseconds. Without a pause, the reads would take the processor from the servers whose
 * state they wait for.
 */
const PAUSE_MS = 20;

/**
 * Reads again and again until the answer is neither false nor null nor undefined, for a state of a server that sends no
 * signal.
 * @returns that answer
 */
export async function until<T>(read: () => Promise<T> | T): Promise<Exclude<T, false | null | undefined>> {
  for (;;) {
    const found = await read();
    if (found !== false && found !== null && found !== undefined) return found as Exclude<T, false | null | undefined>;
    await pause(PAUSE_MS);
  }
}

/** Repeats what another process makes possible soon, until it succeeds. */
export async function untilDone<T>(act: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await act();
    } catch {
      await pause(PAUSE_MS);
    }
  }
}
