import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { Producer, stringSerializers } from "@platformatic/kafka";
import pg from "pg";
import { startKafka } from "../../../tools/services/start-kafka.ts";
import { startPostgres } from "../../../tools/services/start-postgres.ts";
import { cpuUsOf } from "./meter/process-cpu.ts";
import { forgetPeaks, peakMiBOf, residentMiBOf } from "./meter/process-memory.ts";

const PARTITIONS = 12;
const SINGLES = 20_000;
const CALLERS = 64;
const KEY = "the-key-of-the-bench";
const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;
/** A job that does not run meanwhile. */
const JOB = JSON.stringify({ target: { handler: "later" }, payload: { order: 7 }, delayMs: 86_400_000 });
/** A job with the largest payload. */
const LARGE_JOB = JSON.stringify({
  ...{ target: { handler: "later" }, delayMs: 86_400_000 },
  payload: "x".repeat(1024 * 1024 - 2),
});

/** Measures the intake of a filled topic, small and large records, and the CPU of the API for submits over HTTP, with and without Kafka. */
export async function ingestTimes({ isQuick }: { isQuick: boolean }): Promise<void> {
  const [postgres, kafka] = await Promise.all([startPostgres({ version: 15 }), startKafka()]);
  const cluster = { MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: KEY };
  const through = { ...cluster, MAINSPRING_KAFKA: kafka.url, MAINSPRING_INGEST: "kafka" };
  const servers: Server[] = [];
  const db = new pg.Client(postgres.connection);
  await db.connect();
  try {
    // The first server creates the topic, and the code of a server that has run is not cold.
    servers.push(await serve(through));
    const records = isQuick ? 20_000 : 200_000;
    await taken(db, await fill(kafka.broker, 5_000));
    await stop(servers.pop());
    const total = await fill(kafka.broker, records);
    const intake = await serve(through);
    servers.push(intake);
    await taken(db, total - records + 1);
    const [beganMs, beganUs] = [performance.now(), cpuUsOf(intake.pid)];
    const first = await sum(db);
    await taken(db, total);
    const [seconds, count] = [(performance.now() - beganMs) / 1_000, total - first];
    const us = (cpuUsOf(intake.pid) - beganUs) / count;
    console.log(
      `intake of a filled topic: ${Math.round(count / seconds)} records/s, server ${us.toFixed(1)} µs a record`,
    );
    await largeRecords({ db, broker: kafka.broker, intake, count: isQuick ? 60 : 600 });
    await stop(servers.pop());
    for (const [name, settings] of [
      ["direct", cluster],
      ["kafka", through],
    ] as const) {
      const others = await serve({ ...settings, MAINSPRING_ROLES: "scheduler,gateway" });
      const api = await serve({ ...settings, MAINSPRING_ROLES: "api" });
      servers.push(others, api);
      await singles(api.port, SINGLES / 4);
      const began = [performance.now(), cpuUsOf(api.pid)] as const;
      await singles(api.port, SINGLES);
      const perSec = SINGLES / ((performance.now() - began[0]) / 1_000);
      const cpu = (cpuUsOf(api.pid) - began[1]) / SINGLES;
      console.log(`${CALLERS} callers, ${name}: ${Math.round(perSec)} submits/s, api ${cpu.toFixed(1)} µs a job`);
      await stop(servers.pop());
      await stop(servers.pop());
    }
  } finally {
    for (const server of servers) await stop(server);
    await db.end();
    await kafka.stop();
    await postgres.stop();
  }
}

interface LargeRecords {
  db: pg.Client;
  broker: string;
  intake: Server;
  count: number;
}

/**
 * Measures the memory and the CPU of a server that takes in records of 1 MiB. The server stands still while the topic is filled, so that it
 * finds a backlog.
 */
async function largeRecords({ db, broker, intake, count }: LargeRecords): Promise<void> {
  const before = residentMiBOf([intake.pid]);
  intake.child.kill("SIGSTOP");
  const total = await fill(broker, count, LARGE_JOB, 1);
  forgetPeaks(intake.pid);
  const none = await sum(db);
  intake.child.kill("SIGCONT");
  // The server takes over its shards again first.
  await taken(db, none + 1);
  const first = await sum(db);
  const [beganMs, beganUs] = [performance.now(), cpuUsOf(intake.pid)];
  await taken(db, total);
  const [seconds, records] = [(performance.now() - beganMs) / 1_000, total - first];
  const ms = (cpuUsOf(intake.pid) - beganUs) / 1_000 / records;
  const memory = `${Math.round(before)} MiB before, at most ${Math.round(peakMiBOf([intake.pid]))} meanwhile`;
  console.log(
    `${records} records of 1 MiB: ${(records / seconds).toFixed(1)} records/s, server ${ms.toFixed(1)} ms a record, memory ${memory}`,
  );
}

interface Server {
  child: ChildProcess;
  pid: number;
  port: number;
}

/** Writes records to all partitions. @returns the sum of the ends of the partitions */
async function fill(broker: string, count: number, value = JOB, perSend = 1_000): Promise<number> {
  const options = { clientId: "bench", bootstrapBrokers: [broker], serializers: stringSerializers };
  const producer = new Producer<string, string, string, string>({ ...options, retries: 5 });
  const perPartition = Math.ceil(count / PARTITIONS);
  const each = Math.ceil(perPartition / perSend);
  const headers = { "content-type": "application/json" };
  let ends = 0;
  for (let n = 0; n < each; n++) {
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const size = Math.min(perSend, perPartition - n * perSend);
      const message = { topic: "ms.job-requests", partition, key: "k", value, headers };
      const { offsets } = await producer.send({ messages: Array.from({ length: size }, () => ({ ...message })) });
      if (n === each - 1) ends += Number(offsets?.[0]?.offset) + size;
    }
  }
  await producer.close();
  return ends;
}

async function sum(db: pg.Client): Promise<number> {
  const { rows } = await db.query("SELECT coalesce(sum(next_offset), 0)::int AS n FROM mainspring.ingest_positions");
  return rows[0].n;
}

async function taken(db: pg.Client, count: number): Promise<void> {
  while ((await sum(db)) < count) await new Promise((resolve) => setTimeout(resolve, 20));
}

/** Single submits of callers that each wait for their answer. */
async function singles(port: number, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  let left = count;
  const submit = () =>
    new Promise<void>((resolve, reject) => {
      const headers = { "content-type": "application/json", authorization: `Bearer ${KEY}` };
      const options = { agent, port, host: "127.0.0.1", method: "POST", path: "/v1/jobs", headers };
      const sent = request(options, (response) => {
        if (response.statusCode !== 201 && response.statusCode !== 202) reject(new Error(`${response.statusCode}`));
        response.resume().once("end", resolve);
      });
      sent.once("error", reject);
      sent.end(JOB);
    });
  const call = async () => {
    while (left-- > 0) await submit();
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  agent.destroy();
}

async function serve(settings: Record<string, string>): Promise<Server> {
  const free = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_STOP_DELAY_SEC: "0" };
  const child = spawn(process.execPath, [PROGRAM, "serve"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, MAINSPRING_LOG_LEVEL: "warn", ...free, ...settings },
  });
  let text = "";
  for await (const chunk of child.stdout.setEncoding("utf8")) {
    text += String(chunk);
    const [, port] = /http:\/\/127\.0\.0\.1:(\d+)[\s\S]*workers +127/.exec(text) ?? [];
    if (port === undefined) continue;
    child.stdout.resume();
    return { child, pid: child.pid ?? 0, port: Number(port) };
  }
  throw new Error("the server ended before it listened");
}

async function stop(server: Server | undefined): Promise<void> {
  if (server === undefined || server.child.exitCode !== null) return;
  const exit = once(server.child, "exit");
  server.child.kill();
  await exit;
}
