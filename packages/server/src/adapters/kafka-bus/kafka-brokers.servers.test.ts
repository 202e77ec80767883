import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { Admin } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../../../tools/services/start-kafka.ts";
import { createLog } from "../../ops/logging.ts";
import { kafkaAddress } from "../../ports/kafka-address.ts";
import type { FinishedAttempt } from "../../ports/messages.ts";
import { allowTopics } from "../kafka/kafka-rights.fixture.ts";
import { Cluster, type TestNode } from "../mesh/mesh.fixture.ts";
import { stayAwake } from "../system/stay-awake.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { busKeys } from "./bus-envelope.ts";
import { partitionOf } from "./bus-topics.ts";
import { KafkaBus } from "./kafka-bus.ts";

const PASSWORD = "right:pass@word";
const RIGHTS = /: give the user of MAINSPRING_KAFKA the rights Describe, Read and Write on the topics$/;

describe("a Kafka with two brokers, and with rights", () => {
  const cluster = new Cluster();
  const opened: KafkaBus[] = [];
  const trusted = getCACertificates();
  let kafka: TestKafka;
  let admin: Admin;
  let sleep: () => void;
  before(async () => {
    sleep = stayAwake();
    kafka = await startKafka({ secure: { users: { node: PASSWORD } }, hasSecond: true });
    admin = new Admin({ clientId: "test", bootstrapBrokers: [kafka.broker], retries: 5, retryDelay: 200 });
    setDefaultCACertificates([...trusted, kafka.secure?.ca ?? ""]);
  });
  afterEach(async () => {
    for (const bus of opened.splice(0)) bus.close();
    await cluster.close();
  });
  after(async () => {
    setDefaultCACertificates(trusted);
    await admin.close();
    await kafka.stop();
    sleep();
  });

  const busOf = (mesh: TestNode["bus"], url: string, prefix: string): KafkaBus => {
    const address = kafkaAddress(url);
    assert.ok(address !== null);
    const keys = busKeys(["a-secret-of-the-cluster"], []);
    const shared = { topicsBy: "one" as const, isStrict: false, keys, runtime: systemRuntime() };
    const bus = new KafkaBus({ mesh, kafka: address, prefix, ...shared, log: createLog("silent") });
    opened.push(bus);
    return bus;
  };
  const finish = (bus: KafkaBus, to: string, id: string) => {
    const result = { shard: 1, executionId: id, attempt: 1, workerId: "w", state: "SUCCEEDED" as const, startedAt: 1 };
    const finished: FinishedAttempt = { ...result, finishedAt: 2, result: null, error: null, advice: null };
    bus.send({ node: to, role: "scheduler" }, { kind: "FINISHED", results: [finished] });
  };

  it("keeps the bus when the broker that leads dies: over the mesh at first, then over the other broker", {
    timeout: 120_000,
  }, async () => {
    await admin.createTopics({ topics: ["l.job-results", "l.job-assignments"], partitions: 12, replicas: 2 });
    const leaders = async () => {
      const metadata = await admin.metadata({ topics: ["l.job-results"], forceUpdate: true });
      return metadata.topics.get("l.job-results")?.partitions.map(({ leader }) => leader) ?? [];
    };
    const { second } = kafka;
    assert.ok(second !== null);
    // The first broker stays, because it is the controller too. So the receiver reads what the second one leads.
    let led: number[] = [];
    while (!led.includes(second.id)) led = await leaders();
    const names = Array.from({ length: 100 }, (_, index) => `b${index}`);
    const name = names.find((one) => led[partitionOf(one, 12)] === second.id) ?? "";
    const [a, b] = await cluster.start("a", name);
    const [onA, onB] = [busOf(a.bus, kafka.url, "l."), busOf(b.bus, kafka.url, "l.")];
    for (const bus of [onA, onB]) assert.equal(await bus.open(), null);
    let n = 0;
    /** Sends results, all of which must arrive, until this is so. */
    const sendUntil = async (isSo: () => boolean) => {
      while (!isSo()) {
        const id = `e${n++}`;
        const heard = b.heardBy("scheduler", (messages) => JSON.stringify(messages).includes(id));
        finish(onA, name, id);
        await heard;
      }
    };
    await sendUntil(() => onA.load().kafka > 0);
    const before = onA.load();
    await second.kill();
    await sendUntil(() => onA.load().mesh > before.mesh);
    const { kafka: written } = onA.load();
    await sendUntil(() => onA.load().kafka > written && onA.load().isUp && onB.load().isUp);
    assert.equal((await leaders())[partitionOf(name, 12)], 1);
  });

  it("does not let a node start whose user lacks a right", { timeout: 60_000 }, async () => {
    const topics = { user: "node", prefix: "r." };
    // Only the first broker has the listener with rights, so all partitions are there.
    await kafka.second?.kill();
    await admin.createTopics({ topics: ["r.job-assignments", "r.job-results"], partitions: 12, replicas: 1 });
    const [node] = await cluster.start("b");
    const url = `kafka://node:${encodeURIComponent(PASSWORD)}@${kafka.secure?.broker}?tls=on`;
    // A broker learns of a right a moment after the controller.
    const refusal = async (expected: RegExp | null) => {
      for (let tries = 1; ; tries++) {
        const said = await busOf(node.bus, url, "r.").open();
        if (expected === null ? said === null : expected.test(said ?? "") || tries === 20) return said;
      }
    };
    assert.match(String(await refusal(RIGHTS)), RIGHTS);
    await allowTopics(admin, topics, "DESCRIBE", "WRITE");
    assert.match(String(await refusal(RIGHTS)), RIGHTS);
    await allowTopics(admin, topics, "READ");
    assert.equal(await refusal(null), null);
  });
});
