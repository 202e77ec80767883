import process from "node:process";

const SIGNALS = { SIGINT: 130, SIGTERM: 143 } as const;
/**
 * Time within which two signals count as one, in milliseconds. Ctrl-C reaches a program that npm runs twice: from the
 * terminal and, passed on, from npm.
 */
const SAME_PRESS_MS = 100;

/**
 * Calls `stop` at the first SIGINT or SIGTERM; a second signal ends the process at once.
 * @param monotonicMs clock that never steps, in milliseconds
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
