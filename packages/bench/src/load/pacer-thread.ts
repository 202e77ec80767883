import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { nowMs } from "../clock.ts";

/** Says when it is time for each of a row of sends, to a fraction of a millisecond: timers of the event loop cannot. */
const { beginAtMs, everyMs, sends } = workerData as { beginAtMs: number; everyMs: number; sends: number };
const port = parentPort as MessagePort;
const never = new Int32Array(new SharedArrayBuffer(4));

for (let n = 0; n < sends; n++) {
  const waitMs = beginAtMs + n * everyMs - nowMs();
  if (waitMs > 0) Atomics.wait(never, 0, 0, waitMs);
  port.postMessage(n);
}
