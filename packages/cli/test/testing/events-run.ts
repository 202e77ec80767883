import assert from "node:assert/strict";
import { Client, type ExecutionSummary, TerminalError, task, Worker } from "@mainspring/sdk";
import { systemRuntime, until } from "@mainspring/server/testing";
import { startClickHouse } from "../../../../tools/services/start-clickhouse.ts";
import { startKafka, type TestKafka } from "../../../../tools/services/start-kafka.ts";
import { startPostgres } from "../../../../tools/services/start-postgres.ts";
import { mainspring } from "./command.ts";
import { EventSet, ShardOrder } from "./event-set.ts";
import { readTopic } from "./kafka-topic.ts";
import { ServerProcess } from "./server-process.ts";

export interface EventsRunOptions {
  /** Number of jobs in the rounds between the kills, and of those that die. */
  jobs: number;
  dead: number;
  /** Number of SIGKILLs, of the two servers in turn. */
  kills: number;
  /** Time in s for which the broker stays down after the last round. */
  downSec: number;
  /** Number of jobs that are submitted per second while the broker is down, in addition. */
  rate: number;
  say(text: string): void;
}

/** Servers of a run that have begun to tell. */
interface Stage {
  servers: readonly ServerProcess[];
  clients: readonly [Client, ...Client[]];
  kafka: TestKafka;
  /** URL of the engine of ClickHouse, without a database. */
  clickhouse: string;
}

const PAYLOAD = { name: "Zoë", number: 1 };
const FINAL = ["SUCCEEDED", "CANCELLED", "SKIPPED", "DEAD"];
const BATCH = 100;
const TURN_MS = 200;

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
 * Runs jobs on two servers with events for the API, Kafka and ClickHouse, kills servers and the broker, and compares the
 * events of all three, and their ends with the executions, at the end.
 * @throws {AssertionError} they differ
 */
export async function eventsRun(options: EventsRunOptions): Promise<{ broker: string; close(): Promise<void> }> {
  const [postgres, kafka, engine] = await Promise.all([
    startPostgres({ version: 14 }),
    startKafka(),
    startClickHouse(),
  ]);
  const env = {
    ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_STOP_DELAY_SEC: "0" },
    ...{ MAINSPRING_EVENTS: "api,kafka,clickhouse", MAINSPRING_KAFKA: kafka.url },
    MAINSPRING_CLICKHOUSE: `${engine.url}/mainspring`,
  };
  const servers = [new ServerProcess(env), new ServerProcess(env)];
  let worker: Worker | null = null;
  const close = async () => {
    await worker?.stop();
    await Promise.all(servers.map((server) => server.end("SIGTERM")));
    await Promise.all([postgres.stop(), kafka.stop(), engine.stop()]);
  };
  try {
    const { code, stderr } = await mainspring(["clickhouse", "migrate"], { env });
    assert.equal(code, 0, stderr);
    await Promise.all(servers.map((server) => server.start()));
    worker = new Worker({ url: servers.map((s) => s.grpcAddress).join(","), slots: 20, tasks, warn: () => undefined });
    await worker.start();
    const clients = servers.map(({ httpUrl }) => {
      return new Client({ url: httpUrl, retryForMs: 60_000, warn: () => undefined });
    }) as [Client, ...Client[]];
    await play(options, { servers, clients, kafka, clickhouse: engine.url });
    return { broker: kafka.broker, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function play(options: EventsRunOptions, stage: Stage): Promise<void> {
  const { jobs, dead, kills, say } = options;
  const { servers, clients, kafka } = stage;
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
  const more = await flood(options, clients);
  const executions = await whenFinal(clientOf(0));
  assert.equal(executions.length, jobs + more);
  say(`${executions.length} jobs have ended`);
  await kafka.restart();
  say("the broker is back");
  await compare(stage, executions, say);
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

/** Submits jobs for as long as the broker is to stay down. @returns their number */
async function flood({ downSec, rate, say }: EventsRunOptions, clients: Stage["clients"]): Promise<number> {
  const runtime = systemRuntime();
  const beganMs = runtime.monotonicMs();
  let longestMs = 0;
  let count = 0;
  const once = async (turn: number, good: number) => {
    const askedMs = runtime.monotonicMs();
    await submit(clients[turn % clients.length] ?? clients[0], { good, bad: 0 });
    longestMs = Math.max(longestMs, runtime.monotonicMs() - askedMs);
  };
  const asked: Promise<void>[] = [];
  for (let turn = 0; turn * TURN_MS < downSec * 1_000; turn++) {
    const dueMs = beganMs + turn * TURN_MS - runtime.monotonicMs();
    if (dueMs > 0) await new Promise<void>((resolve) => runtime.setTimer(dueMs, resolve));
    const until = Math.round(((turn + 1) * TURN_MS * rate) / 1_000);
    if (until > count) asked.push(once(turn, until - count));
    count = until;
  }
  await Promise.all(asked);
  const tookSec = Math.round((runtime.monotonicMs() - beganMs) / 1_000);
  if (count > 0)
    say(`${count} jobs were accepted in ${tookSec} s; the longest answer took ${Math.round(longestMs)} ms`);
  return count;
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

/** Events of the API without those of workers, whose sessions may go on, once it has the creation and the end of each execution. */
async function told(client: Client, executions: readonly ExecutionSummary[]): Promise<EventSet> {
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
  const all = new EventSet();
  for await (const event of client.events({ after: "oldest", until: "now" })) {
    if (event.data.session === null) all.add(event);
  }
  return all;
}

async function compare(
  { clients: [client], kafka, clickhouse }: Stage,
  executions: readonly ExecutionSummary[],
  say: (text: string) => void,
): Promise<void> {
  const wanted = await told(client, executions);
  const arrived = new EventSet();
  const order = new ShardOrder();
  let messages = 0;
  for await (const message of readTopic(kafka.broker, "ms.job-events", wanted.size)) {
    messages++;
    arrived.addMessage(message);
    order.check(message);
  }
  say(`${wanted.size} events in the API, ${messages} messages in Kafka`);
  arrived.assertEqual(wanted);
  await compareDead(kafka.broker, executions);
  await compareClickHouse(clickhouse, client, wanted, say);
}

async function compareDead(broker: string, executions: readonly ExecutionSummary[]): Promise<void> {
  const dead = executions.filter(({ state }) => state === "DEAD");
  const ids = new Set<string>();
  for await (const { value, headers } of readTopic(broker, "ms.dead-letters", dead.length)) {
    ids.add(headers.id ?? "");
    const { data } = JSON.parse(value);
    assert.deepEqual([data.payload, data.error.message, data.state], [PAYLOAD, "never", "DEAD"]);
  }
  assert.deepEqual([...ids].sort(), dead.map((d) => `${d.executionId}/${d.attempt}/JobDeadLettered`).sort());
}

/** ClickHouse has the events of the API, and a load of the history beside them changes no row of the view of executions. */
async function compareClickHouse(url: string, client: Client, wanted: EventSet, say: EventsRunOptions["say"]) {
  const ask = async (sql: string) => {
    const answer = await fetch(`${url}/?database=mainspring`, { method: "POST", body: sql });
    assert.ok(answer.ok, sql);
    return (await answer.text()).trim();
  };
  const ofJobs = "FROM events WHERE NOT startsWith(kind, 'Worker')";
  await until(async () => Number(await ask(`SELECT uniqExact(id) ${ofJobs}`)) >= wanted.size);
  const ids = (await ask(`SELECT DISTINCT id ${ofJobs}`)).split("\n").sort();
  assert.deepEqual(ids, wanted.ids);
  const view = () => ask("SELECT count(), groupBitXor(cityHash64(*)) FROM executions");
  const before = await view();
  const { code, stdout, stderr } = await mainspring(
    ["clickhouse", "backfill", "--from", "2020-01-01T00:00:00Z", "--to", "2100-01-01T00:00:00Z"],
    {
      env: {
        MAINSPRING_CLICKHOUSE: `${url}/mainspring`,
        MAINSPRING_URL: client.url,
        MAINSPRING_RETRY_FOR: "60s",
      },
    },
  );
  assert.equal(code, 0, stderr);
  say(`ClickHouse has the ${ids.length} events; ${stdout.trim()}`);
  assert.equal(await view(), before);
  const strange = "SELECT count() FROM (SELECT id FROM events GROUP BY id HAVING max(is_live) = 0)";
  assert.equal(await ask(strange), "0");
}
