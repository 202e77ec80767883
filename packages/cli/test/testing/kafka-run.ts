import assert from "node:assert/strict";
import { Client, type ExecutionSummary, type LifecycleEvent, TerminalError, task, Worker } from "@mainspring/sdk";
import { systemRuntime } from "@mainspring/server/testing";
import { startKafka, type TestKafka } from "../../../../tools/services/start-kafka.ts";
import { startPostgres } from "../../../../tools/services/start-postgres.ts";
import { assertInOrder, assertLikeTheApi, idsOf, readTopic } from "./kafka-topic.ts";
import { ServerProcess } from "./server-process.ts";

export interface KafkaRunOptions {
  /** Number of jobs in all, and of those that die. */
  jobs: number;
  dead: number;
  /** Number of SIGKILLs, of the two servers in turn. */
  kills: number;
  /** Time in s for which the broker stays down with all work done. It is down during the last round of jobs in any case. */
  downSec: number;
  say(text: string): void;
}

const PAYLOAD = { name: "Zoë", number: 1 };
const FINAL = ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"];
const BATCH = 100;

const tasks = [
  task({ name: "good", run: () => "done" }),
  task({
    name: "bad",
    run: () => {
      throw new TerminalError("never");
    },
  }),
];

/**
 * Runs jobs on two servers with events for the API and for Kafka, kills servers and the broker, and compares what Kafka has
 * with the API at the end.
 * @throws {AssertionError} they differ
 */
export async function kafkaRun(options: KafkaRunOptions): Promise<{ broker: string; close(): Promise<void> }> {
  const [postgres, kafka] = await Promise.all([startPostgres({ version: 14 }), startKafka()]);
  const env = {
    ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_STOP_DELAY_SEC: "0" },
    ...{ MAINSPRING_EVENTS: "api,kafka", MAINSPRING_KAFKA: kafka.url },
  };
  const servers = [new ServerProcess(env), new ServerProcess(env)];
  let worker: Worker | null = null;
  const close = async () => {
    await worker?.stop();
    await Promise.all(servers.map((server) => server.end("SIGTERM")));
    await Promise.all([postgres.stop(), kafka.stop()]);
  };
  try {
    await Promise.all(servers.map((server) => server.start()));
    const url = servers.map(({ grpcAddress }) => grpcAddress).join(",");
    worker = new Worker({ url, slots: 20, tasks, warn: () => undefined });
    await worker.start();
    await play(options, servers, kafka);
    return { broker: kafka.broker, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function play(options: KafkaRunOptions, servers: readonly ServerProcess[], kafka: TestKafka): Promise<void> {
  const { jobs, dead, kills, downSec, say } = options;
  const clients = servers.map(
    ({ httpUrl }) => new Client({ url: httpUrl, retryForMs: 60_000, warn: () => undefined }),
  ) as [Client, ...Client[]];
  const clientOf = (turn: number) => clients[turn % clients.length] ?? clients[0];
  const rounds = parts(jobs, dead, 2 * kills + 1);
  const last = rounds.pop() as Round;
  for (const [turn, round] of rounds.entries()) {
    await submit(clientOf(turn), round);
    const killed = servers[(turn / 2) % servers.length];
    if (killed === undefined) continue;
    await killed.end("SIGKILL");
    await killed.start();
  }
  await kafka.kill();
  say("the broker is down");
  await submit(clientOf(0), last);
  const executions = await whenFinal(clientOf(0));
  assert.equal(executions.length, jobs);
  say(`${jobs} jobs have ended`);
  await new Promise<void>((resolve) => systemRuntime().setTimer(downSec * 1_000, resolve));
  await kafka.restart();
  say("the broker is back");
  await compare(clientOf(1), kafka.broker, executions, say);
}

interface Round {
  good: number;
  bad: number;
}

/** Spreads jobs over rounds. */
function parts(jobs: number, dead: number, rounds: number): Round[] {
  const part = (total: number, i: number) => Math.floor((total * (i + 1)) / rounds) - Math.floor((total * i) / rounds);
  return Array.from({ length: rounds }, (_, i) => ({ good: part(jobs - dead, i), bad: part(dead, i) }));
}

async function submit(client: Client, { good, bad }: Round): Promise<void> {
  const handlers = [...Array<string>(good).fill("good"), ...Array<string>(bad).fill("bad")];
  for (let from = 0; from < handlers.length; from += BATCH) {
    const part = handlers.slice(from, from + BATCH);
    const items = await client.submitBatch(part.map((handler) => ({ target: { handler }, payload: PAYLOAD })));
    assert.equal(items.filter((item) => "executionId" in item).length, part.length);
  }
}

async function whenFinal(client: Client): Promise<ExecutionSummary[]> {
  for (;;) {
    const executions: ExecutionSummary[] = [];
    for await (const execution of client.listExecutions({ limit: 1_000 })) executions.push(execution);
    const open = executions.find(({ state }) => !FINAL.includes(state));
    if (open === undefined) return executions;
    await client.waitForExecution(open.executionId);
  }
}

/** Events of the API, once it has the creation and the end of each execution. */
async function told(client: Client, executions: readonly ExecutionSummary[]): Promise<LifecycleEvent[]> {
  const missing = new Set(
    executions.flatMap(({ executionId, attempt, state }) => [
      `${executionId}/0/JobCreated`,
      `${executionId}/${attempt}/${state === "DEAD" ? "JobDeadLettered" : "JobCompleted"}`,
    ]),
  );
  for await (const { id } of client.events({ after: "oldest" })) {
    missing.delete(id);
    if (missing.size === 0) break;
  }
  const all: LifecycleEvent[] = [];
  for await (const event of client.events({ after: "oldest", until: "now" })) all.push(event);
  return all;
}

async function compare(
  client: Client,
  broker: string,
  executions: readonly ExecutionSummary[],
  say: (text: string) => void,
): Promise<void> {
  const events = (await told(client, executions)).filter(({ data }) => data.session === null);
  const wanted = [...new Set(events.map(({ id }) => id))].sort();
  const messages = await readTopic(broker, "ms.job-events", wanted.length);
  say(`${wanted.length} events in the API, ${messages.length} messages in Kafka`);
  assert.deepEqual(idsOf(messages), wanted);
  assertLikeTheApi(messages, events);
  assertInOrder(messages);
  const dead = executions.filter(({ state }) => state === "DEAD");
  const letters = await readTopic(broker, "ms.dead-letters", dead.length);
  const deadIds = dead.map(({ executionId, attempt }) => `${executionId}/${attempt}/JobDeadLettered`);
  assert.deepEqual(idsOf(letters), deadIds.sort());
  for (const { value } of letters) {
    const { data } = JSON.parse(value);
    assert.deepEqual([data.payload, data.error.message, data.state], [PAYLOAD, "never", "DEAD"]);
  }
}
