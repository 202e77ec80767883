import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { nowMs } from "../clock.ts";

export interface OpenLoop {
  sends: number;
  perSec: number;
  send(n: number): Promise<void>;
}

/** Time for the thread to start before the first send is due, in milliseconds. */
const LEAD_MS = 300;

/**
 * Sends at a fixed rate, independent of earlier answers, so that a system that stalls is still measured with the sends
 * that come meanwhile.
 * @returns intended time of each send, from which lateness is counted
 */
export async function openLoop({ sends, perSec, send }: OpenLoop): Promise<Float64Array> {
  const everyMs = 1_000 / perSec;
  const beginAtMs = nowMs() + LEAD_MS;
  const pacer = new Worker(new URL("./pacer-thread.ts", import.meta.url), {
    workerData: { beginAtMs, everyMs, sends },
  });
  const sent: Promise<void>[] = [];
  const failures: unknown[] = [];
  pacer.on("message", (n: number) => sent.push(send(n).catch((error: unknown) => void failures.push(error))));
  await once(pacer, "exit");
  await Promise.all(sent);
  if (failures.length > 0) throw new Error(`${failures.length} of ${sends} sends failed`, { cause: failures[0] });
  return Float64Array.from({ length: sends }, (_, n) => beginAtMs + n * everyMs);
}
