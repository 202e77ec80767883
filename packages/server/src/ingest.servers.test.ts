import assert from "node:assert/strict";
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";
import type { RequestBody } from "@mainspring/contract";
import { Client, task, Worker } from "@mainspring/sdk";
import { Admin, Producer, stringSerializers } from "@platformatic/kafka";
import pg from "pg";
import { pythonWith } from "../../../tools/services/python-packages.ts";
import { startKafka, type TestKafka } from "../../../tools/services/start-kafka.ts";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { readMessages } from "./adapters/kafka/kafka-reader.fixture.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

const apiKey = "the-key-of-the-two-servers";
const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;
const EXAMPLES = new URL("../../../examples", import.meta.url).pathname;
const NOTE = { target: { handler: "note" } };
const WAITING = { target: { handler: "later" }, delayMs: 86_400_000 };
const TOPIC = "ms.job-requests";
const RECORDS = 4_000;

describe("MAINSPRING_INGEST=kafka, with servers on PostgreSQL and Kafka", () => {
  let postgres: TestPostgres;
  let kafka: TestKafka;
  let node: RunningNode;
  let worker: Worker;
  let db: pg.Pool;
  let producer: Producer<string, string, string, string>;
  const children: ChildProcess[] = [];
  /** Number of runs of each payload. */
  const ran = new Map<unknown, number>();
  const note = task({ name: "note", run: (payload: number) => void ran.set(payload, (ran.get(payload) ?? 0) + 1) });
  const settings = () => ({
    ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: apiKey },
    ...{ MAINSPRING_KAFKA: kafka.url, MAINSPRING_INGEST: "kafka", MAINSPRING_STOP_DELAY_SEC: "0" },
  });

  before(async () => {
    [postgres, kafka] = await Promise.all([startPostgres({ version: 15 }), startKafka()]);
    node = await startLocalNode(settings());
    worker = new Worker({ url: node.grpcAddress, apiKey, slots: 100, tasks: [note], warn: () => undefined });
    await worker.start();
    db = new pg.Pool({ ...postgres.connection, max: 2 });
    db.on("error", () => undefined);
    const options = { clientId: "test", bootstrapBrokers: [kafka.broker], retries: 5, retryDelay: 200 };
    producer = new Producer({ ...options, serializers: stringSerializers });
  });
  after(async () => {
    for (const child of children) if (child.exitCode === null) child.kill("SIGKILL");
    await producer?.close();
    await worker?.stop();
    await node?.stop();
    await db?.end();
    await kafka?.stop();
    await postgres?.stop();
  });

  const request = async (id: string): Promise<RequestBody | null> => {
    const response = await fetch(`${node.httpUrl}/v1/requests/${id}`, {
      headers: { authorization: `Bearer ${apiKey}` },
    });
    return response.status === 200 ? ((await response.json()) as RequestBody) : null;
  };
  const decided = (id: string): Promise<RequestBody> =>
    until(async () => {
      const found = await request(id);
      return found === null || found.state === "ACCEPTED" ? null : found;
    });
  const post = (body: unknown, headers: Record<string, string> = {}, path = "/v1/jobs"): Promise<Response> =>
    fetch(`${node.httpUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
  const hasRun = async (payload: number) => {
    await until(async () => (ran.has(payload) ? true : null));
    assert.equal(ran.get(payload), 1);
  };
  const count = async (where: string): Promise<number> => {
    const { rows } = await db.query(`SELECT count(*)::int AS n FROM mainspring.jobs WHERE ${where}`);
    return rows[0].n;
  };
  /** Writes records as another program does. @returns ids of their requests */
  const produce = async (values: readonly string[], partition = 0, headers: Record<string, string> = {}) => {
    const messages = values.map((value) => ({ topic: TOPIC, partition, key: "k", value, headers }));
    const { offsets } = await producer.send({ messages });
    return values.map((_, i) => `${partition}-${Number(offsets?.[0]?.offset) + i}`);
  };

  it("answers 202 before the job is in the store, and tells what has become of it", async () => {
    const response = await post({ ...NOTE, payload: 1 });
    const body = (await response.json()) as Record<string, string>;
    assert.equal(response.status, 202);
    assert.deepEqual(Object.keys(body), ["jobId", "executionId", "request"]);
    assert.equal(response.headers.get("location"), `/v1/requests/${body.request}`);
    const found = await decided(body.request ?? "");
    assert.deepEqual([found.state, found.source, found.jobId], ["TAKEN_IN", "KAFKA", body.jobId]);
    await hasRun(1);
    assert.equal((await post({ ...NOTE, priority: 11 })).status, 400);
  });

  it("takes records of other programs in, and tells of those that it refuses, which stop no partition", async () => {
    const [good] = await produce([JSON.stringify({ ...NOTE, payload: 2 })]);
    const bad = ["{", JSON.stringify({ target: {} }), '{"target":{"handler":"note"},"payload":"\\ud800"}'];
    const refused = await produce(bad);
    const [type] = await produce(["x"], 0, { "content-type": "text/plain" });
    const [last] = await produce([JSON.stringify({ ...NOTE, payload: 3 })]);
    for (const id of [good, last]) assert.equal((await decided(String(id))).state, "TAKEN_IN");
    await hasRun(2);
    await hasRun(3);
    for (const id of [...refused.slice(0, 2), type]) {
      const { state, problem } = await decided(String(id));
      assert.equal(state, "REFUSED");
      assert.ok((problem?.status ?? 0) >= 400);
    }
    const told = await readMessages(kafka.broker, `${TOPIC}-refused`, 3);
    const heads = told.map(({ headers }) => `${headers["mainspring-partition"]}-${headers["mainspring-offset"]}`);
    assert.deepEqual(heads.toSorted(), [...refused.slice(0, 2), String(type)].toSorted());
    assert.equal(String(told.find((_, i) => heads[i] === refused[0])?.value), "{");
  });

  it("takes in the records of the examples in TypeScript and Python, each once, however often they run", async () => {
    const run = (...command: [string, ...string[]]) =>
      promisify(execFile)(command[0], [...command.slice(1), kafka.broker, "3"], { cwd: EXAMPLES });
    const constraints = new URL("../../../tools/services/job-events/kafka-python.txt", import.meta.url).pathname;
    const python = await pythonWith({ name: "kafka-python", constraints });
    const commands: [string, ...string[]][] = [
      [process.execPath, "kafka-submit.ts"],
      [python, "-B", "kafka_submit.py"],
    ];
    const ids: string[] = [];
    for (const command of commands)
      for (const line of (await run(...command)).stdout.trim().split("\n")) ids.push(line.replace("request ", ""));
    assert.equal(ids.length, 6);
    const found = await Promise.all(ids.map((id) => decided(id)));
    assert.deepEqual(new Set(found.map(({ state }) => state)), new Set(["TAKEN_IN"]));
    assert.equal(new Set(found.map(({ jobId }) => jobId)).size, 3);
  });

  it("takes each record in once while nodes are killed in the middle", async () => {
    const text = JSON.stringify({ ...WAITING, target: { handler: "later", pool: "kills" } });
    const of = "pool = 'kills'";
    for (let partition = 0; partition < 12; partition++)
      await produce(
        Array.from({ length: RECORDS / 12 }, () => text),
        partition,
      );
    for (let n = 0; n < 2; n++) {
      const child = spawn(process.execPath, [PROGRAM, "serve"], {
        stdio: "ignore",
        env: { ...process.env, ...settings(), MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0" },
      });
      children.push(child);
      const [{ n: nodes }] = (await until(async () => {
        const { rows } = await db.query("SELECT count(DISTINCT owner)::int AS n FROM mainspring.shards");
        return rows[0].n === 2 ? rows : null;
      })) as [{ n: number }];
      assert.equal(nodes, 2);
      const before = await count(of);
      const exit = once(child, "exit");
      for (let partition = 0; partition < 12; partition++)
        await produce(
          Array.from({ length: 100 }, () => text),
          partition,
        );
      await until(async () => ((await count(of)) > before ? true : null));
      child.kill("SIGKILL");
      await exit;
    }
    const all = 12 * (Math.floor(RECORDS / 12) + 200);
    await until(async () => ((await count(of)) >= all ? true : null));
    const { rows } = await db.query("SELECT sum(next_offset)::int AS n FROM mainspring.ingest_positions");
    assert.equal(await count(of), all);
    assert.ok(rows[0].n >= all);
  });

  it("takes each record in once although its transaction is ended in the middle", async () => {
    const lock = await db.connect();
    const text = JSON.stringify({ ...WAITING, target: { handler: "later", pool: "ended" } });
    await lock.query("BEGIN; LOCK TABLE mainspring.jobs IN SHARE MODE");
    const ids = await produce(
      Array.from({ length: 50 }, () => text),
      4,
    );
    const waiting = "wait_event_type = 'Lock' AND query LIKE '%INSERT INTO jobs%'";
    await until(async () => {
      const found = await db.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${waiting}`);
      return found.rows.length > 0 ? true : null;
    });
    assert.equal((await request(String(ids[0])))?.state, "ACCEPTED");
    await lock.query("ROLLBACK");
    lock.release();
    for (const id of ids) assert.equal((await decided(id)).state, "TAKEN_IN");
    assert.equal(await count("pool = 'ended'"), 50);
  });

  it("answers 202 while the store takes no connections, and the store catches up", async () => {
    const admin = new pg.Client({ ...postgres.connection, database: "template1" });
    admin.on("error", () => undefined);
    await admin.connect();
    const { rows } = await db.query("SELECT current_database() AS name");
    const { name } = rows[0] as { name: string };
    await admin.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`);
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", [name]);
    const accepted: string[] = [];
    for (let n = 0; n < 20; n++) {
      const response = await post({ ...NOTE, payload: 100 + n });
      assert.equal(response.status, 202);
      accepted.push(((await response.json()) as { request: string }).request);
    }
    await admin.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS true`);
    await admin.end();
    for (const id of accepted) assert.equal((await decided(id)).state, "TAKEN_IN");
    for (let n = 0; n < 20; n++) await hasRun(100 + n);
  });

  it("takes the records of a topic in for the tenant that it belongs to, and for nobody else", async () => {
    const operator = new Client({ url: node.httpUrl, apiKey });
    const acme = new Client({ url: node.httpUrl, apiKey, tenant: "acme" });
    await operator.tenants.create({ name: "acme" });
    await operator.tenants.bind("acme", { kind: "TOPIC", name: TOPIC });
    // Jobs of other tenants do not go through the topic, as soon as the node knows whose it is.
    await until(async () => ((await post({ ...NOTE, payload: 150 })).status === 201 ? true : null));
    const bound = JSON.stringify({ target: { handler: "bound" }, delayMs: 86_400_000 });
    const ids = await produce(Array.from({ length: 20 }, () => bound));
    for (const id of ids) {
      await until(async () => (await acme.requests.get(id).catch(() => null))?.state === "TAKEN_IN" || null);
      await assert.rejects(operator.requests.get(id), { code: "NOT_FOUND" });
    }
    assert.equal(await count("tenant = 'acme'"), ids.length);
    assert.equal(await count("tenant <> 'acme' AND handler = 'bound'"), 0);
    await operator.tenants.unbind("acme", { kind: "TOPIC", name: TOPIC });
    await until(async () => ((await post({ ...NOTE, payload: 151 })).status === 202 ? true : null));
  });

  it("goes on after the topic was deleted, and after the broker was restarted", async () => {
    const admin = new Admin({ clientId: "test", bootstrapBrokers: [kafka.broker], retries: 5, retryDelay: 200 });
    await admin.deleteTopics({ topics: [TOPIC] });
    await admin.close();
    const taken = async (payload: number) => {
      const body = await until(async () => {
        const response = await post({ ...NOTE, payload });
        return response.status === 202 ? ((await response.json()) as { request: string }) : null;
      });
      await until(async () => ((await request(body.request))?.state === "TAKEN_IN" ? true : null));
    };
    await taken(200);
    await kafka.kill();
    const { status } = await post({ ...NOTE, payload: 201 });
    assert.equal(status, 503);
    await kafka.restart();
    await taken(202);
    await hasRun(202);
  });
});

it("says what is missing, and ends, where Kafka or its rights are", async () => {
  const run = async (settings: Record<string, string>) => {
    const child = spawn(process.execPath, [PROGRAM, "serve"], { env: { PATH: process.env.PATH, ...settings } });
    let text = "";
    for await (const chunk of child.stderr) text += String(chunk);
    const code = child.exitCode ?? (await once(child, "exit"))[0];
    return { code, text };
  };
  const { code, text } = await run({ MAINSPRING_INGEST: "kafka" });
  assert.equal(code, 78);
  assert.match(text, /MAINSPRING_KAFKA must be set, as kafka:\/\/host:9092, where MAINSPRING_INGEST is kafka/);
});
