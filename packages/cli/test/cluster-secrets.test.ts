import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";

const OLD = { key: "the-api-key-until-today", secret: "the-secret-until-today" };
const NEW = { key: "the-api-key-from-now-on", secret: "the-secret-from-now-on" };
const CLIENTS = 4;

type Credentials = typeof OLD;

function envOf(first: Credentials, also?: Credentials): Record<string, string> {
  return {
    MAINSPRING_API_KEY: first.key,
    MAINSPRING_CLUSTER_SECRET: first.secret,
    ...(also && { MAINSPRING_API_KEY_ALSO: also.key, MAINSPRING_CLUSTER_SECRET_ALSO: also.secret }),
  };
}

describe("a cluster whose API key and secret are changed under load", () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await TestCluster.open();
  });
  const workers: Worker[] = [];
  after(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    await cluster.close();
  });

  /** Nodes to which a load balancer sends requests. */
  let serving: ClusterNode[] = [];
  let apiKey = OLD.key;
  /** Present request of each client. */
  const asking = new Map<number, Promise<void>>();
  const runs = new Map<string, number>();
  const count = task({
    name: "count",
    run: (_payload, { executionId }) => void runs.set(executionId, (runs.get(executionId) ?? 0) + 1),
  });

  const startWorker = async () => {
    const url = serving.map(({ grpcAddress }) => grpcAddress);
    const worker = new Worker({ tasks: [count], url, apiKey, warn: () => undefined });
    await worker.start();
    workers.push(worker);
  };
  /** Restarts one node after the other, each at its address, while the others serve. */
  const roll = async (env: Record<string, string>) => {
    for (const old of [...serving]) {
      serving = serving.filter((other) => other !== old);
      // A load balancer lets requests in progress finish.
      await Promise.all(asking.values());
      old.command.signal("SIGTERM");
      await old.command.done;
      serving = [...serving, await cluster.node({ ...env, MAINSPRING_GRPC: old.grpcAddress })];
    }
  };

  it("refuses no request, and runs every job once", async () => {
    serving = [await cluster.node(envOf(OLD)), await cluster.node(envOf(OLD)), await cluster.node(envOf(OLD))];
    await startWorker();
    const submitted: string[] = [];
    const load = { isOver: false };
    const ask = async ({ httpUrl: url }: ClusterNode) => {
      // The client has no retries, so every refused request is a failure here.
      const client = new Client({ url, apiKey, retries: 0 });
      const { executionId } = await client.submit({ target: { handler: "count" } });
      submitted.push(executionId);
      await client.getExecution(executionId, { waitSec: 1 });
    };
    const clients = Array.from({ length: CLIENTS }, async (_, at) => {
      for (let n = at; !load.isOver; n++) {
        const asked = ask(serving[n % serving.length] as ClusterNode);
        asking.set(at, asked);
        await asked;
      }
    });
    const change = async () => {
      await roll(envOf(OLD, NEW));
      apiKey = NEW.key;
      await startWorker();
      await workers.shift()?.stop();
      await roll(envOf(NEW));
    };
    await Promise.all([change().finally(() => (load.isOver = true)), ...clients]);
    const client = new Client({ url: serving[0]?.httpUrl ?? "", apiKey });
    for (const executionId of submitted) {
      assert.equal((await client.getExecution(executionId, { waitSec: 30 })).state, "SUCCEEDED");
    }
    assert.ok(submitted.length > 100, `${submitted.length} jobs`);
    assert.deepEqual([runs.size, Math.max(...runs.values())], [submitted.length, 1]);
    const stranger = new Client({ url: serving[0]?.httpUrl ?? "", apiKey: OLD.key });
    await assert.rejects(stranger.cluster.status(), { code: "UNAUTHENTICATED" });
  });
});
