import { task } from "@mainspring/sdk";
import { loadConfig, startNode } from "@mainspring/server";
import { serveWorker } from "../../worker/serve-worker.ts";

/** A program that is server and worker in one. */
interface Settings {
  /** The server's configuration. */
  env: Record<string, string>;
  slots: number;
  prefetch: number;
}

await serveWorker<Settings>(async ({ env, slots, prefetch }, tally) => {
  const node = await startNode(loadConfig({ ...process.env, ...env }));
  const noop = task({ name: "noop", run: (job: { n: number; holdMs?: number }) => tally.ran(job) });
  let worker: ReturnType<typeof node.attachWorker> | null = null;
  return {
    about: { httpUrl: node.httpUrl },
    start: async () => {
      worker = node.attachWorker({ name: "bench", tasks: [noop], slots, prefetch });
      await worker.start();
    },
    stop: async () => {
      await worker?.stop();
      worker = null;
    },
  };
});
