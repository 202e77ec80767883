import assert from "node:assert/strict";
import { after, before, describe, it, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Client, task, Worker, type WorkerOptions } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { LongCommand } from "./testing/command.ts";
import { TestLink } from "./testing/link.ts";

const WORKER = fileURLToPath(new URL("testing/worker-process.ts", import.meta.url));
/** Number of jobs: enough that both nodes own the shards of some. */
const JOBS = 10;
/** Duration of the handler `hold`, which does not end before its worker is frozen or killed, in milliseconds. */
const LONG_MS = 600_000;
const MEDIUM_MS = 5_000;
/** Limit of the wait: a worker without a gateway is lost after 5 s, a worker that no gateway can reach after 30 s. */
const SOON_SEC = 20;

describe("workers whose gateway is killed", () => {
  let cluster: TestCluster;
  let nodes: [ClusterNode, ClusterNode];
  let client: Client;
  before(async () => {
    cluster = await TestCluster.open();
    nodes = await Promise.all([cluster.node(), cluster.node()]);
    client = new Client({ url: nodes[1].httpUrl });
    const shares = async () => (await client.cluster.status()).nodes.map(({ shards }) => shards);
    await until(async () => (await shares()).join() === "32,32");
  });
  after(() => cluster.close());

  const submitted = async (pool: string, ms: number) => {
    const jobs = Array.from({ length: JOBS }, () => ({ target: { pool, handler: "hold" }, payload: ms }));
    const items = await client.submitBatch(jobs);
    return items.map((item) => ("executionId" in item ? (item.executionId ?? "") : ""));
  };
  const workerOf = async (pool: string) => (await client.workers()).find((worker) => worker.pool === pool);
  const hasAll = async (pool: string) => {
    const { workerId = "" } = (await workerOf(pool)) ?? {};
    return (await client.getWorker(workerId)).executionsTotal === JOBS;
  };
  /** Starts a worker in a process of its own. */
  const startProcess = async (t: TestContext, options: Omit<WorkerOptions, "tasks">) => {
    const worker = new LongCommand([], { TEST_WORKER: JSON.stringify(options) }, WORKER);
    t.after(() => worker.signal("SIGKILL"));
    await worker.says(/ready/);
    return worker;
  };
  /** Starts a worker whose handler ends at once. */
  const startQuick = async (t: TestContext, options: Omit<WorkerOptions, "tasks">) => {
    const hold = task({ name: "hold", run: () => null });
    const worker = new Worker({ ...options, tasks: [hold], warn: () => undefined });
    t.after(() => worker.stop());
    await worker.start();
    return worker;
  };
  const assertSucceeded = async (ids: readonly string[]) => {
    const ended = await Promise.all(ids.map((id) => client.getExecution(id, { waitSec: SOON_SEC })));
    assert.deepEqual(
      ended.map(({ state }) => state),
      ids.map(() => "SUCCEEDED"),
    );
  };

  it("lose their work to others within seconds, and start none of it when they run again", async (t) => {
    const [killed, living] = nodes;
    const link = new TestLink();
    t.after(() => link.close());
    const portOf = ({ grpcAddress }: ClusterNode) => Number(grpcAddress.split(":").at(-1));
    const way = await link.listen(portOf(killed));
    const frozen = await startProcess(t, { pool: "frozen", url: way, slots: 1, prefetch: JOBS - 1 });
    const dead = await startProcess(t, { pool: "dead", url: killed.grpcAddress, slots: JOBS });
    const lost = await submitted("dead", LONG_MS);
    const taken = await submitted("frozen", MEDIUM_MS);
    await until(async () => (await hasAll("dead")) && (await hasAll("frozen")));
    await frozen.says(/start/);
    frozen.signal("SIGSTOP");
    dead.signal("SIGKILL");
    killed.command.signal("SIGKILL");
    await startQuick(t, { pool: "dead", url: living.grpcAddress });
    const other = await startQuick(t, { pool: "frozen", url: living.grpcAddress });
    await assertSucceeded([...lost, ...taken]);

    await other.stop();
    link.leadTo(portOf(living));
    frozen.signal("SIGCONT");
    // The worker starts this job after everything that it may hold.
    const [next = ""] = await submitted("frozen", 0);
    const [said] = await frozen.says(new RegExp(`[^]*start ${next}`));
    const starts = taken.filter((id) => said.includes(`start ${id}`));
    assert.equal(starts.length, 1, "the one that ran when the worker was frozen");
  });
});
