import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, TerminalError, task, Worker } from "@mainspring/sdk";
import { loadConfig, type RunningNode, startNode } from "@mainspring/server";
import { until } from "@mainspring/server/testing";

/** Values that a page must show as text. */
export const HOSTILE = '<img src=x onerror="document.title=`caught`"><script>document.title="caught"</script>';
/** Name of a job that would show its end first. */
const REVERSED = "invoice\u202efdp.exe";
const LOCAL = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" };

const TASKS = [
  task({
    name: "greet",
    run: async (name: string, ctx) => {
      ctx.log(`greeting ${name}`);
      return { hello: name, page: HOSTILE, large: 1 };
    },
  }),
  task({
    name: "charge",
    run: async (card: string): Promise<never> => {
      const error = new Error(`the bank refused ${card}`);
      // Pictures of the guide show this stack, and not the folders of a machine.
      error.stack = `${error}\n    at charge (billing.ts:25:13)\n    at run (worker.ts:7:3)`;
      throw error;
    },
  }),
  task({
    name: "refuse",
    run: async (): Promise<never> => {
      throw new TerminalError("this will never work");
    },
  }),
  task({
    name: "render",
    run: async (_: unknown, ctx) => {
      ctx.progress(0.4, "page 4 of 10");
      ctx.log("rendering page 4");
      await new Promise((_resolve, reject) => ctx.signal.addEventListener("abort", () => reject(new Error("stopped"))));
    },
  }),
];

/** A whole server with a worker and work of many kinds. */
export interface Scene {
  readonly node: RunningNode;
  readonly client: Client;
  /** Ids of executions and jobs, by what they are there for. */
  readonly ids: Readonly<Record<"greeted" | "dead" | "renders" | "waits" | "large" | "nightly" | "reversed", string>>;
  stop(): Promise<void>;
}

/** Starts a server on an empty store. @param apiKey null: the server asks for no key */
export async function startServer(apiKey: string | null): Promise<{ node: RunningNode; stop(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), "mainspring-console-"));
  const settings = { ...LOCAL, MAINSPRING_DATA_DIR: dataDir, ...(apiKey !== null && { MAINSPRING_API_KEY: apiKey }) };
  const node = await startNode(loadConfig(settings));
  const stop = async () => {
    await node.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { node, stop };
}

export async function startScene(): Promise<Scene> {
  const { node, stop } = await startServer(null);
  const client = new Client({ url: node.httpUrl });
  const worker = new Worker({ url: node.grpcAddress, name: "worker-1", tasks: TASKS, slots: 4, warn: () => undefined });
  await worker.start();
  const submit = (handler: string, payload: unknown, more: object = {}) =>
    client.submit({ target: { handler }, payload, ...more });
  const greeted = await submit("greet", "Ada", { labels: { team: "blue" } });
  const dead = await submit("charge", "card-1", { retryPolicy: { maxAttempts: 3, initialDelayMs: 20 } });
  await submit("refuse", null);
  const renders = await submit("render", { pages: 10 });
  const waits = await submit("nobody-offers-this", { exact: 1 });
  const large = await submit("greet", { text: "x".repeat(1024 * 1024 - 500), html: HOSTILE });
  const nightly = await client.submit({
    name: "nightly",
    target: { handler: "greet" },
    payload: "Eve",
    schedule: "0 3 * * *",
  });
  const reversed = await client.submit({
    name: REVERSED,
    target: { handler: "greet" },
    payload: "Mal",
    everySec: 3_600,
  });
  await until(async () => (await client.getExecution(greeted.executionId)).state === "SUCCEEDED");
  await until(async () => (await client.stats()).executions.deadLetters === 2);
  await until(async () => (await client.getExecution(renders.executionId)).progress !== null);
  return {
    ...{ node, client },
    ids: {
      greeted: greeted.executionId,
      dead: dead.executionId,
      renders: renders.executionId,
      waits: waits.executionId,
      large: large.executionId,
      nightly: nightly.jobId,
      reversed: reversed.jobId,
    },
    stop: async () => {
      await worker.stop({ timeoutMs: 0 });
      await stop();
    },
  };
}
