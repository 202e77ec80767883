import { threadCpuUsage } from "node:process";

/**
 * A hold of the event loop that fails a test, in milliseconds of processor time: four times what the slowest shape takes on the machine
 * of the figures in docs/internals/hostile-input.md, so that a slow machine keeps it, and a twentieth of what a body once took that was
 * judged at once.
 */
export const HOLD_MAX_MS = 200;

/**
 * Measures how long the event loop of this thread was held: the processor time that the thread used between two runs of a timer. A
 * machine that is busy with other things delays the timer too, but lends the thread no processor time meanwhile.
 */
export class LoopProbe {
  readonly #timer: NodeJS.Timeout;
  #lastMs = cpuMs();
  #longestMs = 0;

  constructor() {
    this.#timer = setInterval(() => this.#look(), 1);
  }

  /** The longest hold since the last reading, in milliseconds. */
  read(): number {
    this.#look();
    const longestMs = this.#longestMs;
    this.#longestMs = 0;
    return longestMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const nowMs = cpuMs();
    this.#longestMs = Math.max(this.#longestMs, nowMs - this.#lastMs);
    this.#lastMs = nowMs;
  }
}

function cpuMs(): number {
  const { user, system } = threadCpuUsage();
  return (user + system) / 1_000;
}
