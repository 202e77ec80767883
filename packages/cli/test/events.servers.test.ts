import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type ExecutionSummary, type LifecycleEvent, TerminalError, task, Worker } from "@mainspring/sdk";
import { decodePosition } from "@mainspring/server/testing";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { ServerProcess } from "./testing/server-process.ts";

/** Number of jobs of each handler in a round. There is a round before, between and after the kills. */
const JOBS = 25;
const FINAL_KINDS = {
  SUCCEEDED: "JobCompleted",
  CANCELLED: "JobCancelled",
  SKIPPED: "JobSkipped",
  DEAD: "JobDeadLettered",
};
/** Steps of the handler `stepped`. */
const STEPS = ["fetch", "a/b"];
const ENDS = Object.values(FINAL_KINDS);

describe("events over HTTP, on PostgreSQL, with two servers that are killed", () => {
  let postgres: TestPostgres;
  let servers: [ServerProcess, ServerProcess];
  let worker: Worker;
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    const env = {
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_STOP_DELAY_SEC: "0" },
      MAINSPRING_EVENTS: "api",
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
    await postgres?.stop();
  });

  const tasks = [
    task({ name: "good", run: () => "done" }),
    task({
      name: "flaky",
      run: (_: unknown, { attempt }) => {
        if (attempt === 1) throw new RangeError("once");
      },
    }),
    task({
      name: "stepped",
      run: async (_: unknown, { step }) => {
        for (const name of STEPS) await step.run(name, () => name);
      },
    }),
    task({
      name: "bad",
      run: () => {
        throw new TerminalError("never");
      },
    }),
  ];
  const clientOf = ({ httpUrl }: ServerProcess) =>
    new Client({ url: httpUrl, retryForMs: 60_000, warn: () => undefined });
  const submitRound = async (client: Client) => {
    const retryPolicy = { maxAttempts: 3, initialDelayMs: 100 };
    const jobs = ["good", "flaky", "stepped", "bad"].flatMap((handler) =>
      Array.from({ length: JOBS }, () => ({ target: { handler }, retryPolicy })),
    );
    const items = await client.submitBatch([...jobs, { target: { handler: "nobody" } }]);
    const last = items.at(-1);
    assert.ok(last !== undefined && "executionId" in last && last.executionId);
    await client.cancelExecution(last.executionId);
  };
  const listed = async (client: Client) => {
    const all: ExecutionSummary[] = [];
    for await (const execution of client.listExecutions({ limit: 1_000 })) all.push(execution);
    return all;
  };
  const whenFinal = async (client: Client) => {
    for (;;) {
      const open = (await listed(client)).find(({ state }) => !(state in FINAL_KINDS));
      if (open === undefined) return;
      await client.waitForExecution(open.executionId);
    }
  };
  const kept = async (client: Client) => {
    const all: LifecycleEvent[] = [];
    for await (const event of client.events({ after: "oldest", until: "now" })) all.push(event);
    return all;
  };
  const wantedIds = (executions: readonly ExecutionSummary[]) =>
    executions.flatMap(({ executionId, state, attempt, handler }) => [
      `${executionId}/0/JobCreated`,
      `${executionId}/${attempt}/${FINAL_KINDS[state as keyof typeof FINAL_KINDS]}`,
      ...(handler === "stepped" ? STEPS.map((name) => `${executionId}/StepRecorded/${name}`) : []),
    ]);
  const wanted: readonly string[] = ["JobCreated", "StepRecorded", ...ENDS];
  const idsOf = (events: readonly LifecycleEvent[]) =>
    [...new Set(events.filter(({ type }) => wanted.includes(type)).map(({ id }) => id))].sort();

  /** Ids without those of workers, of which further ones come while the test looks. */
  const ofExecutions = (events: readonly LifecycleEvent[]) =>
    events.flatMap(({ id, data }) => (data.executionId === null ? [] : [id])).sort();

  it("tell the creation and the one end of each execution, in the order of each shard", async (t) => {
    const [a, b] = servers.map(clientOf) as [Client, Client];
    const stop = new AbortController();
    t.after(() => stop.abort());
    const followed: LifecycleEvent[] = [];
    let heard = () => {};
    const following = (async () => {
      for await (const event of b.events({ after: "oldest", signal: stop.signal })) {
        followed.push(event);
        heard();
      }
    })();
    await submitRound(a);
    for (const killed of servers) {
      await submitRound(a);
      await killed.end("SIGKILL");
      await killed.start();
      await submitRound(b);
    }
    await whenFinal(a);
    const executions = await listed(a);
    assert.equal(executions.length, 5 * (4 * JOBS + 1));
    const wanted = wantedIds(executions).sort();
    let first = await kept(a);
    // The event of a creation may come up to a second later.
    while (idsOf(first).length < wanted.length) first = await kept(a);
    const second = await kept(b);
    assert.deepEqual(idsOf(first), wanted);
    assert.deepEqual(idsOf(second), wanted);
    assert.deepEqual(ofExecutions(second), ofExecutions(first));
    while (idsOf(followed).length < wanted.length) await new Promise<void>((resolve) => (heard = resolve));
    stop.abort();
    await assert.rejects(following, { name: "AbortError" });
    assert.deepEqual(idsOf(followed), wanted);
    for (const events of [first, second]) {
      assertInOrder(events);
      assertSameRepeats(events);
    }
    assertSameRepeats([...first, ...second, ...followed]);
    const failures = first.filter(({ type, data }) => type === "JobFailed" && data.handler === "flaky");
    const flaky = executions.filter(({ handler }) => handler === "flaky");
    const failed = flaky.reduce((sum, execution) => sum + execution.failures + execution.lost, 0);
    assert.equal(new Set(failures.map(({ id }) => id)).size, failed);
  });

  it("tell the sessions of workers, and why they end", async () => {
    const client = clientOf(servers[0]);
    const stays = new Worker({ url: servers[0].grpcAddress, slots: 1, tasks, warn: () => undefined });
    await stays.start();
    const until = async (kind: string, known: readonly string[]) => {
      for (;;) {
        const events = await kept(client);
        const found = events.find(({ type, subject }) => type === kind && !known.includes(subject));
        if (found !== undefined) return found;
      }
    };
    const before = (await kept(client)).flatMap(({ type, subject }) => (type === "WorkerRegistered" ? [subject] : []));
    const begin = await until("WorkerRegistered", before);
    const dead = (await kept(client)).flatMap(({ type, subject }) => (type === "WorkerDead" ? [subject] : []));
    await stays.stop();
    const end = await until("WorkerDead", dead);
    assert.equal(begin.id, `${begin.subject}/${begin.data.session}/WorkerRegistered`);
    assert.deepEqual([begin.data.pool, begin.data.workerId, begin.data.executionId], ["default", begin.subject, null]);
    assert.deepEqual([end.subject, end.data.session, end.data.reason], [begin.subject, begin.data.session, "LEFT"]);
  });
});

/** The positions of each shard never fall. */
function assertInOrder(events: readonly LifecycleEvent[]): void {
  const last = new Map<number, { epoch: number; seq: number }>();
  for (const { position } of events) {
    for (const [shard, { epoch, seq }] of decodePosition(position)) {
      const before = last.get(shard) ?? { epoch: 0, seq: 0 };
      assert.ok(epoch > before.epoch || (epoch === before.epoch && seq >= before.seq), `shard ${shard}`);
      last.set(shard, { epoch, seq });
    }
  }
}

/** An event with an id says the same each time. */
function assertSameRepeats(events: readonly LifecycleEvent[]): void {
  const known = new Map<string, unknown>();
  for (const { position: _, ...event } of events) {
    if (known.has(event.id)) assert.deepEqual(event, known.get(event.id));
    known.set(event.id, event);
  }
}
