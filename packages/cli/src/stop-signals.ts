import process from "node:process";

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;
/** Ctrl-C reaches a program that npm runs twice at once: from the terminal and, passed on, from npm. */
const SAME_PRESS_MS = 100;

/**
 * Calls `stop` at the first SIGINT or SIGTERM; a second one ends the process at once.
 * @param monotonicMs a clock that never steps
 */
export function onStopSignal(monotonicMs: () => number, stop: (signal: NodeJS.Signals) => void): void {
  let firstAtMs: number | null = null;
  for (const [signal, exitCode] of Object.entries(SIGNALS) as [keyof typeof SIGNALS, number][]) {
    process.on(signal, () => {
      const nowMs = monotonicMs();
      if (firstAtMs === null) {
        firstAtMs = nowMs;
        stop(signal);
      } else if (nowMs - firstAtMs > SAME_PRESS_MS) process.exit(exitCode);
    });
  }
}
