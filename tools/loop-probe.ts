import { threadCpuUsage } from "node:process";

/**
 * Measures blocks of this thread's event loop: the CPU time that the thread used between two runs of a timer. A machine
 * with other load delays the timer too, but gives the thread no CPU time meanwhile.
 */
export class LoopProbe {
  readonly #timer: NodeJS.Timeout;
  #lastMs = cpuMs();
  #longestMs = 0;

  constructor() {
    this.#timer = setInterval(() => this.#look(), 1);
  }

  /** Longest block since the last reading, in milliseconds. */
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

/**
 * CPU time of this thread, in milliseconds. Linux counts the time of a running thread at its timer ticks, and brings the
 * count up to date for a reading of the process.
 */
export function cpuMs(): number {
  process.cpuUsage();
  const { user, system } = threadCpuUsage();
  return (user + system) / 1_000;
}
