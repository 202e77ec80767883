import { task } from "@mainspring/sdk";
import { loadConfig, startNode } from "@mainspring/server";
import { serveWorker } from "../../worker/serve-worker.ts";

/** Process with a server and a worker. */
interface Settings {
  /** Configuration of the server. */
  env: Record<string, string>;
  slots?: number;
  prefetch?: number;
}

await serveWorker<Settings>(async ({ env, ...settings }, tally) => {
  const node = await startNode(loadConfig({ ...process.env, ...env }));
  const noop = task({ name: "noop", run: (job: { n: number; holdMs?: number }) => tally.ran(job) });
  let worker: ReturnType<typeof node.attachWorker> | null = null;
  return {
    about: { httpUrl: node.httpUrl },
    start: async () => {
      worker = node.attachWorker({ name: "bench", tasks: [noop], ...settings });
      await worker.start();
    },
    stop: async () => {
      await worker?.stop();
      worker = null;
    },
  };
});
