import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type ExecutionSummary, type LifecycleEvent, TerminalError, task, Worker } from "@mainspring/sdk";
import { type TestKafka, startKafka } from "../../../tools/services/start-kafka.ts";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { mainspring } from "./testing/command.ts";
import { readTopic, type TopicMessage } from "./testing/kafka-topic.ts";
import { FREE } from "./testing/server.ts";
import { ServerProcess } from "./testing/server-process.ts";

/** Numbers of jobs in a round. Five rounds make 500 jobs, of which 25 die. */
const GOOD = 95;
const BAD = 5;
const PAYLOAD = { name: "Zoë", number: 1 };
const FINAL = ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"];

describe("events in Kafka, with two servers and a broker that are killed", () => {
  let postgres: TestPostgres;
  let kafka: TestKafka;
  let servers: [ServerProcess, ServerProcess];
  let worker: Worker;
  before(async () => {
    [postgres, kafka] = await Promise.all([startPostgres({ version: 14 }), startKafka()]);
    const env = {
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_STOP_DELAY_SEC: "0" },
      ...{ MAINSPRING_EVENTS: "api,kafka", MAINSPRING_KAFKA: kafka.url },
    };
    servers = [new ServerProcess(env), new ServerProcess(env)];
    await Promise.all(servers.map((server) => server.start()));
    const url = servers.map(({ grpcAddress }) => grpcAddress).join(",");
    worker = new Worker({ url, slots: 20, tasks, warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker?.stop();
    await Promise.all((servers ?? []).map((server) => server.end("SIGTERM")));
    await Promise.all([postgres?.stop(), kafka?.stop()]);
  });

  const tasks = [
    task({ name: "good", run: () => "done" }),
    task({
      name: "bad",
      run: () => {
        throw new TerminalError("never");
      },
    }),
  ];
  const clientOf = ({ httpUrl }: ServerProcess) => new Client({ url: httpUrl, retryForMs: 60_000, warn: () => undefined });
  const submitRound = async (client: Client) => {
    const jobs = (handler: string, length: number) => Array.from({ length }, () => ({ target: { handler }, payload: PAYLOAD }));
    const items = await client.submitBatch([...jobs("good", GOOD), ...jobs("bad", BAD)]);
    assert.equal(items.filter((item) => "executionId" in item).length, GOOD + BAD);
  };
  const listed = async (client: Client) => {
    const all: ExecutionSummary[] = [];
    for await (const execution of client.listExecutions({ limit: 1_000 })) all.push(execution);
    return all;
  };
  const whenFinal = async (client: Client) => {
    for (;;) {
      const executions = await listed(client);
      const open = executions.find(({ state }) => !FINAL.includes(state));
      if (open === undefined) return executions;
      await client.waitForExecution(open.executionId);
    }
  };
  /** Events of the API, once it has the creation and the end of each execution. */
  const told = async (client: Client, executions: readonly ExecutionSummary[]) => {
    const missing = new Set(executions.flatMap(({ executionId, attempt, state }) => [
      `${executionId}/0/JobCreated`,
      `${executionId}/${attempt}/${state === "DEAD" ? "JobDeadLettered" : "JobCompleted"}`,
    ]));
    for await (const { id } of client.events({ after: "oldest" })) {
      missing.delete(id);
      if (missing.size === 0) break;
    }
    const all: LifecycleEvent[] = [];
    for await (const event of client.events({ after: "oldest", until: "now" })) all.push(event);
    return all;
  };

  it("are those of the API, in the order of each shard, and dead letters have payload and error", async () => {
    const [a, b] = servers.map(clientOf) as [Client, Client];
    for (const killed of servers) {
      await submitRound(killed === servers[0] ? a : b);
      await killed.end("SIGKILL");
      await killed.start();
      await submitRound(killed === servers[0] ? b : a);
    }
    await kafka.kill();
    await submitRound(a);
    const executions = await whenFinal(a);
    assert.equal(executions.length, 5 * (GOOD + BAD));
    await kafka.restart();
    const events = await told(b, executions);
    const wanted = new Set(events.map(({ id }) => id));
    const messages = await readTopic(kafka.broker, "ms.job-events", (all) => idsOf(all).size >= wanted.size);
    assert.deepEqual([...idsOf(messages)].sort(), [...wanted].sort());
    assertLikeTheApi(messages, events);
    assertInOrder(messages);
    const dead = executions.filter(({ state }) => state === "DEAD").map(({ executionId, attempt }) => `${executionId}/${attempt}/JobDeadLettered`);
    assert.equal(dead.length, 5 * BAD);
    const letters = await readTopic(kafka.broker, "ms.dead-letters", (all) => idsOf(all).size >= dead.length);
    assert.deepEqual([...idsOf(letters)].sort(), dead.sort());
    for (const { value } of letters) {
      const { data } = JSON.parse(value);
      assert.deepEqual([data.payload, data.error.message, data.state], [PAYLOAD, "never", "DEAD"]);
    }
  });
});

describe("a server with events for Kafka", () => {
  it("does not start without the address of a broker", async () => {
    const { code, stderr } = await mainspring(["serve"], { env: { ...FREE, MAINSPRING_EVENTS: "kafka" } });
    assert.equal(code, 78);
    assert.match(stderr, /MAINSPRING_KAFKA must be set, as kafka:\/\/host:9092, where MAINSPRING_EVENTS has kafka/);
  });
});

function idsOf(messages: readonly TopicMessage[]): Set<string> {
  return new Set(messages.map(({ headers }) => headers.id ?? ""));
}

/** Each message says what the API says, and so does each repeat. */
function assertLikeTheApi(messages: readonly TopicMessage[], events: readonly LifecycleEvent[]): void {
  const known = new Map(events.map(({ position: _, ...event }) => [event.id, event]));
  for (const { value, headers } of messages) {
    const event = JSON.parse(value);
    assert.deepEqual(event, known.get(event.id));
    assert.deepEqual([headers.id, headers.kind, headers.tenant], [event.id, event.type, event.data.tenant]);
  }
}

/** Without repeats, the rows of a shard come in their order, all in one partition. */
function assertInOrder(messages: readonly TopicMessage[]): void {
  const seen = new Set<string>();
  const last = new Map<string, { epoch: number; seq: number; partition: number }>();
  for (const { key, partition, headers } of messages) {
    const [epoch, seq] = [Number(headers.epoch), Number(headers.seq)];
    const id = `${headers.id} ${epoch} ${seq}`;
    if (seen.has(id)) continue;
    seen.add(id);
    const before = last.get(key) ?? { epoch: 0, seq: 0, partition };
    assert.ok(epoch > before.epoch || (epoch === before.epoch && seq >= before.seq), `shard ${key}`);
    assert.equal(partition, before.partition);
    assert.equal(headers.shard, key);
    last.set(key, { epoch, seq, partition });
  }
}
