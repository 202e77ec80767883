import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { systemRuntime } from "@mainspring/server/testing";
import { Admin } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../tools/services/start-kafka.ts";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { mainspring } from "./testing/command.ts";
import { FREE } from "./testing/server.ts";

const clock = systemRuntime();
/** Number of jobs in four rounds: before and after each fault. */
const JOBS = 800;

describe("a cluster with the bus on Kafka", () => {
  let cluster: TestCluster;
  let kafka: TestKafka;
  before(async () => {
    [cluster, kafka] = await Promise.all([TestCluster.open(), startKafka()]);
  });
  after(async () => {
    await cluster.close();
    await kafka.stop();
  });

  let isDown = false;
  const restart = async () => {
    await kafka.restart();
    isDown = false;
  };
  // A test that failed may have left the broker down.
  beforeEach(() => (isDown ? restart() : undefined));

  for (const fallback of ["mesh", "none"] as const) {
    it(`ends every job while a topic is deleted and the broker is killed, with the fallback ${fallback}`, async (t) => {
      const env = { MAINSPRING_BUS: "kafka", MAINSPRING_KAFKA: kafka.url, MAINSPRING_BUS_FALLBACK: fallback };
      // Assignments and results cross from one node to the other, and a node of the mesh takes part.
      const schedulers = { ...env, MAINSPRING_ROLES: "api,scheduler" };
      const [first, second, third] = (await Promise.all([
        cluster.node(schedulers),
        cluster.node({ ...env, MAINSPRING_ROLES: "gateway" }),
        cluster.nodeOf(2, { MAINSPRING_ROLES: "api,gateway" }),
      ])) as [ClusterNode, ClusterNode, ClusterNode];
      const runs = new Map<string, number>();
      const tick = task({
        name: "tick",
        run: (_payload, { executionId }) => void runs.set(executionId, (runs.get(executionId) ?? 0) + 1),
      });
      const workers = [second, third].map(
        ({ grpcAddress: url }) => new Worker({ tasks: [tick], url, pool: "ticks", slots: 5, warn: () => undefined }),
      );
      t.after(async () => {
        await Promise.all(workers.map((worker) => worker.stop()));
        await cluster.stopNodes();
      });
      await Promise.all(workers.map((worker) => worker.start()));
      const client = new Client({ url: first.httpUrl, retryForMs: 60_000, warn: () => undefined });
      const ids: string[] = [];
      const some = async (count: number) => {
        const jobs = Array.from({ length: count }, () => ({ target: { pool: "ticks", handler: "tick" } }));
        for (const item of await client.submitBatch(jobs)) ids.push((item as { executionId: string }).executionId);
      };
      const allEnd = async () => {
        const ended = await Promise.all(ids.map((id) => client.getExecution(id, { waitSec: 50 })));
        assert.deepEqual(new Set(ended.map(({ state }) => state)), new Set(["SUCCEEDED"]));
      };
      const inKafka = async () => {
        const before = await written(first, "KAFKA");
        while ((await written(first, "KAFKA")) === before) await some(10);
      };
      await inKafka();
      const admin = new Admin({ clientId: "test", bootstrapBrokers: [kafka.broker], retries: 5 });
      await some(JOBS / 4);
      await admin.deleteTopics({ topics: ["ms.job-assignments", "ms.job-results"] });
      await admin.close();
      await some(JOBS / 4);
      await inKafka();
      await some(JOBS / 4);
      isDown = true;
      await kafka.kill();
      await some(JOBS / 4);
      if (fallback === "mesh") {
        const began = clock.monotonicMs();
        await allEnd();
        t.diagnostic(`ended ${Math.round(clock.monotonicMs() - began)} ms after the broker was killed`);
      }
      const began = clock.monotonicMs();
      await restart();
      t.diagnostic(`the broker answers ${Math.round(clock.monotonicMs() - began)} ms after its start`);
      await inKafka();
      await allEnd();
      t.diagnostic(`all ended ${Math.round(clock.monotonicMs() - began)} ms after the broker's start`);
      assert.equal(runs.size, ids.length);
      assert.equal(await written(first, "REFUSED"), 0);
    });
  }

  it("does not start without brokers, or with a login that they refuse, and names the setting", async () => {
    const env = { ...FREE, MAINSPRING_STORE: cluster.storeUrl, MAINSPRING_BUS: "kafka" };
    const missing = await mainspring(["serve"], { env });
    assert.equal(missing.code, 78);
    assert.match(missing.stderr, /MAINSPRING_KAFKA must be set, as kafka:\/\/host:9092, where MAINSPRING_BUS is kafka/);
    const MAINSPRING_KAFKA = kafka.url.replace("kafka://", "kafka://user:password@");
    const refused = await mainspring(["serve"], { env: { ...env, MAINSPRING_KAFKA } });
    assert.equal(refused.code, 78, refused.stderr);
    assert.match(refused.stderr, /MAINSPRING_BUS=kafka: Kafka at .*: leave user and password out of MAINSPRING_KAFKA/);
  });
});

/** Figure of a node: messages by their way, or refused records. */
async function written({ httpUrl }: ClusterNode, way: "KAFKA" | "REFUSED"): Promise<number> {
  const text = await (await fetch(`${httpUrl}/metrics`)).text();
  const name = way === "REFUSED" ? "refused_total" : `messages_total\\{way="${way}"\\}`;
  return Number(new RegExp(`^mainspring_kafka_bus_${name} (\\d+)`, "m").exec(text)?.[1] ?? Number.NaN);
}
