import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { nowMs } from "../clock.ts";

/**
 * Signals the time of each of a series of sends, to a fraction of a millisecond, which timers of the event loop cannot
 * do.
 */
const { beginAtMs, everyMs, sends } = workerData as { beginAtMs: number; everyMs: number; sends: number };
const port = parentPort as MessagePort;
const never = new Int32Array(new SharedArrayBuffer(4));

for (let n = 0; n < sends; n++) {
  const waitMs = beginAtMs + n * everyMs - nowMs();
  if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs);
  port.postMessage(n);
}
