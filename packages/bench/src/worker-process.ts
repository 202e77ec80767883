import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { stop } from "./server-process.ts";

export interface DrainReport {
  firstAtMs: number;
  runs: number;
}

export interface DrainWorker extends AsyncDisposable {
  /** Its word once it has run that many. */
  reportAfter(runs: number): Promise<DrainReport>;
}

/** A worker in a process of its own, as users run it. */
export async function startDrainWorker(grpcAddress: string): Promise<DrainWorker> {
  const child = fork(fileURLToPath(new URL("./drain-worker.ts", import.meta.url)), [grpcAddress]);
  return {
    reportAfter: async (runs) => {
      child.send(runs);
      const [report] = await once(child, "message");
      return report as DrainReport;
    },
    [Symbol.asyncDispose]: () => stop(child),
  };
}
