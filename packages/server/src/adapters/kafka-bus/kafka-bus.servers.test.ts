import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { Admin, Producer, stringSerializers } from "@platformatic/kafka";
import { startKafka, type TestKafka } from "../../../../../tools/services/start-kafka.ts";
import { createLog } from "../../ops/logging.ts";
import type { Bus, Envelope } from "../../ports/bus.ts";
import { busConformance } from "../../ports/conformance/bus.conformance.ts";
import { kafkaAddress } from "../../ports/kafka-address.ts";
import type { FinishedAttempt } from "../../ports/messages.ts";
import { Cluster, type TestNode } from "../mesh/mesh.fixture.ts";
import type { Letter } from "../mesh/packet.ts";
import { stayAwake } from "../system/stay-awake.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { busKeys } from "./bus-envelope.ts";
import { PARTITIONS, partitionOf } from "./bus-topics.ts";
import { KafkaBus, type KafkaBusDependencies } from "./kafka-bus.ts";

const runtime = systemRuntime();
const log = createLog("silent");
/** Interval in ms in which a test repeats a message that the bus may lose. */
const REPEAT_EVERY_MS = 20;
const KEYS = busKeys(["a-secret-of-the-cluster"], []);

const cluster = new Cluster();
const opened: KafkaBus[] = [];
let kafka: TestKafka;
// Timers of a runtime do not keep a process alive.
const sleep = stayAwake();
before(async () => {
  kafka = await startKafka();
});
after(async () => {
  for (const bus of opened) bus.close();
  await cluster.close();
  await kafka.stop();
  sleep();
});

async function open(mesh: TestNode["bus"], options: Partial<KafkaBusDependencies> = {}): Promise<KafkaBus> {
  const address = kafkaAddress(kafka.url);
  assert.ok(address !== null);
  const shared = { prefix: "t.", topicsBy: "one" as const, isStrict: false, keys: KEYS, runtime, log };
  const bus = new KafkaBus({ mesh, kafka: address, ...shared, ...options });
  opened.push(bus);
  assert.equal(await bus.open(), null);
  return bus;
}

describe("with messages of a node to itself over Kafka", () => {
  const TESTS = 5;
  const buses: KafkaBus[] = [];
  before(async () => {
    for (let n = 0; n < TESTS; n++) {
      buses.push(
        await open(cluster.bus(`alone-${n}`), {
          isLooped: true,
          topicsOf: (role, message) =>
            message.kind === "FINAL" ? [{ topics: ["t.job-results"], letter: { role, message } as Letter }] : null,
        }),
      );
    }
  });
  let used = 0;
  busConformance("Kafka", () => buses[used++] as Bus);
  it("were in Kafka", async () => {
    assert.equal(used, TESTS);
    // A message can arrive before Kafka has confirmed it.
    await cluster.until(() => buses.reduce((sum, bus) => sum + bus.load().kafka, 0) >= 3);
    assert.deepEqual(
      buses.map((bus) => bus.load()).map(({ kafka: written, refused }) => [written, refused]),
      [1, 1, 1, 0, 0].map((written) => [written, 0]),
    );
  });
});

describe("the bus on Kafka between nodes", () => {
  let admin: Admin;
  let producer: Producer<string, string, string, string>;
  before(() => {
    const options = { clientId: "test", bootstrapBrokers: [kafka.broker], retries: 5, retryDelay: 200 };
    admin = new Admin(options);
    producer = new Producer({ ...options, serializers: stringSerializers });
  });
  after(() => Promise.all([admin.close(), producer.close()]));
  afterEach(async () => {
    for (const bus of opened.splice(0)) bus.close();
    await cluster.close();
  });

  /** Number of messages that the tests gave to each bus. */
  const given = new Map<Bus, number>();
  function give(bus: Bus, to: TestNode, id: string, result: Uint8Array | null = null): void {
    given.set(bus, (given.get(bus) ?? 0) + 1);
    bus.send({ node: to.bus.node, role: "scheduler" }, { kind: "FINISHED", results: [finished(id, result)] });
  }
  /** Sends results until the condition holds: nodes announce in the background what they read, and the bus may lose messages. */
  async function until(bus: Bus, to: TestNode, isSo: () => boolean): Promise<void> {
    for (let n = 0; !isSo(); n++) {
      give(bus, to, `until-${n}`);
      await new Promise<void>((resolve) => runtime.setTimer(REPEAT_EVERY_MS, resolve));
    }
  }
  /** The counts of a bus once all that it was given has been counted. */
  async function counted(bus: KafkaBus): Promise<ReturnType<KafkaBus["load"]>> {
    await cluster.until(() => {
      const { kafka: written, mesh, dropped } = bus.load();
      return written + mesh + dropped >= (given.get(bus) ?? 0);
    });
    return bus.load();
  }
  async function arrival(
    bus: Bus,
    to: TestNode,
    id: string,
    result: Uint8Array | null = null,
  ): Promise<Envelope<unknown>> {
    const heard = to.heardBy("scheduler", (messages) => messages.some((one) => idsOf(one).includes(id)));
    give(bus, to, id, result);
    const found = (await heard).find((one) => idsOf(one).includes(id));
    assert.ok(found !== undefined);
    return found;
  }

  it("carries results to nodes that read it, in both directions, and says who sent them", async () => {
    const [a, b] = await cluster.start("a", "b");
    const [onA, onB] = [await open(a.bus), await open(b.bus)];
    await until(onA, b, () => onA.load().kafka > 0);
    await until(onB, a, () => onB.load().kafka > 0);
    const { kafka: written } = await counted(onA);
    const { from, message } = await arrival(onA, b, "e1", Buffer.from('{"n":1}'));
    assert.equal(from, "a");
    assert.deepEqual(message, { kind: "FINISHED", results: [finished("e1", new Uint8Array(Buffer.from('{"n":1}')))] });
    assert.equal((await counted(onA)).kafka, written + 1);
  });

  it("uses the mesh for nodes that do not read it, that sign with something else, and for large messages", async () => {
    const [a, b, c, d] = await cluster.start("a", "b", "c", "d");
    const onA = await open(a.bus);
    await open(c.bus);
    await open(d.bus, { keys: busKeys([], ["a-key-of-the-cluster"]) });
    await until(onA, c, () => onA.load().kafka > 0);
    const { kafka: written } = await counted(onA);
    await arrival(onA, b, "plain");
    await arrival(onA, d, "other keys");
    await arrival(onA, c, "large", new Uint8Array(1024 * 1024));
    assert.equal((await counted(onA)).kafka, written);
  });

  it("delivers no record that no node has signed, or that is no message", async () => {
    const [a, b] = await cluster.start("a", "b");
    const [onA, onB] = [await open(a.bus), await open(b.bus)];
    await until(onA, b, () => onA.load().kafka > 0);
    const at = { topic: "t.job-results", partition: partitionOf("b", PARTITIONS), key: "b", value: "forged" };
    for (const headers of [{}, { from: "a", signatures: "AAAA" }, { from: "nobody", signatures: "AAAA" }])
      await producer.send({ messages: [{ ...at, headers }] });
    await cluster.until(() => onB.load().refused === 3);
  });

  it("reads on behind records of a stranger that expand to too much", async () => {
    const [a, b] = await cluster.start("a", "b");
    const [onA, onB] = [await open(a.bus), await open(b.bus)];
    await until(onA, b, () => onA.load().kafka > 0);
    const at = { topic: "t.job-results", partition: partitionOf("b", PARTITIONS), key: "stranger" };
    const strange = new Producer({ clientId: "stranger", bootstrapBrokers: [kafka.broker] });
    for (const compression of ["zstd", "gzip", "snappy", "lz4"] as const) {
      const message = { ...at, key: Buffer.from(at.key), value: Buffer.alloc(16 * 1024 * 1024) };
      const { refused } = onB.load();
      await strange.send({ compression, messages: [message] });
      await cluster.until(() => onB.load().refused > refused);
    }
    await strange.close();
    const { kafka: written } = await counted(onA);
    await arrival(onA, b, "behind them");
    assert.equal((await counted(onA)).kafka, written + 1);
  });

  it("has a topic for each pool, and the common one for pools that nobody reads", async () => {
    const [a, b] = await cluster.start("a", "b");
    const [onA, onB] = [await open(a.bus, { topicsBy: "pool" }), await open(b.bus, { topicsBy: "pool" })];
    onA.listen("scheduler", () => undefined);
    const worker = { workerId: "w", name: "w", pool: "Größe/1", handlers: [], capabilities: [], slots: 1, prefetch: 0 };
    const up = { kind: "WORKER_UP" as const, term: 1, worker, connection: 1, account: 1, holds: [] };
    onB.send({ node: "a", role: "scheduler" }, up);
    const topic = "t.assignments.Gr_c3b6__c39f_e_2f_1";
    const offset = async () => (await topicsOf(admin)).includes(topic) && onA.load().kafka > 0;
    for (let n = 0; !(await offset()); n++) await assign(onA, b, `pool-${n}`);
    await assign(onA, b, "other", "stranger");
    assert.ok((await topicsOf(admin)).includes("t.job-assignments"));
  });

  it("goes over the mesh while a topic is gone, creates it anew, and uses it again", async () => {
    const [a, b] = await cluster.start("a", "b");
    const [onA] = [await open(a.bus), await open(b.bus)];
    await until(onA, b, () => onA.load().kafka > 0);
    const before = onA.load();
    await admin.deleteTopics({ topics: ["t.job-results"] });
    await until(onA, b, () => onA.load().mesh > before.mesh);
    const { kafka: written } = onA.load();
    await until(onA, b, () => onA.load().kafka > written);
    assert.ok((await topicsOf(admin)).includes("t.job-results"));
  });

  it("goes over the mesh when the broker is killed, or waits where it must not", async () => {
    const [a, b, c] = await cluster.start("a", "b", "c");
    const [onA, onC] = [await open(a.bus), await open(c.bus, { isStrict: true })];
    await open(b.bus);
    await until(onA, b, () => onA.load().kafka > 0);
    await until(onC, b, () => onC.load().kafka > 0);
    const written = await counted(onC);
    await kafka.kill();
    await arrival(onA, b, "at once");
    give(onC, b, "waits");
    await cluster.until(() => !onC.load().isUp && !onA.load().isUp);
    await arrival(onA, b, "later");
    assert.deepEqual({ ...onC.load(), isUp: true }, { ...written, isUp: true });
  });

  async function assign(bus: Bus, to: TestNode, id: string, workerId = "w"): Promise<void> {
    const heard = to.heardBy("gateway", (messages) =>
      messages.some(
        ({ message }) => (message as { assigns: { executionId: string }[] }).assigns[0]?.executionId === id,
      ),
    );
    const assigns = [
      {
        ...{ shard: 1, executionId: id, attempt: 1, epoch: 1, workerId, gateway: to.bus.node, account: 1, credit: 1 },
        ...{
          handler: "h",
          payload: null,
          payloadBytes: 0,
          timeoutMs: 1,
          cancelGraceMs: 1,
          failures: 0,
          maxAttempts: 1,
        },
        scheduledAt: 1,
      },
    ];
    bus.send({ node: to.bus.node, role: "gateway" }, { kind: "ASSIGN", assigns });
    await heard;
  }
});

function topicsOf(admin: Admin): Promise<string[]> {
  return admin.listTopics();
}

function finished(executionId: string, result: Uint8Array | null = null): FinishedAttempt {
  return {
    ...{ shard: 1, executionId, attempt: 1, workerId: "w", state: "SUCCEEDED" as const, startedAt: 1, finishedAt: 2 },
    ...{ result, error: null, advice: null },
  };
}

function idsOf({ message }: Envelope<unknown>): string[] {
  return (message as { results: FinishedAttempt[] }).results.map(({ executionId }) => executionId);
}
