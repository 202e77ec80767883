import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Admin } from "@platformatic/kafka";
import { freePort } from "./free-port.ts";
import { kafkaJars } from "./kafka-jars.ts";
import { makeCertificates, type SecureListener, scramUsers, securitySettings } from "./kafka-security.ts";

const run = promisify(execFile);

/** A broker of Kafka 4.1 for tests, which is its own controller, on a new and empty data folder. */
export interface TestKafka {
  /** Address in the form of MAINSPRING_KAFKA. */
  readonly url: string;
  /** host:port */
  readonly broker: string;
  /** Listener with TLS and login; null: there is none. */
  readonly secure: { broker: string; ca: string } | null;
  /** Kills the broker as a power cut would. The data stays. */
  kill(): Promise<void>;
  /** Starts a killed broker again, at the same address and with its data. Resolves when it answers. */
  restart(): Promise<void>;
  /** Kills the broker and removes its data. Repeated calls do nothing. */
  stop(): Promise<void>;
}

/** Options of the JVM: small, and quick to start. */
const JAVA = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const START_MAX_MS = 180_000;

/** Servers that run now, so that none stays behind when the process exits without stopping it. */
const running = new Map<ChildProcess, string>();

/** Starts a broker that listens on the loopback address only. It ends with this process at the latest. */
export async function startKafka(options: { secure?: SecureListener } = {}): Promise<TestKafka> {
  const jars = join(await kafkaJars(), "*");
  const folder = await mkdtemp(join(tmpdir(), "kafka-"));
  const clusterId = randomBytes(16).toString("base64url");
  const ports = { plain: await freePort(), controller: await freePort(), secure: options.secure && (await freePort()) };
  const security = options.secure ? securitySettings(folder, options.secure) : {};
  const settings = join(folder, "server.properties");
  await writeFile(settings, settingsOf(folder, ports, security));
  const ca = options.secure ? await makeCertificates(folder) : "";
  const users = options.secure ? scramUsers(options.secure) : [];
  const java = (...args: string[]) => [...JAVA, "-cp", jars, ...args];
  await run("java", java("kafka.tools.StorageTool", "format", "-t", clusterId, "-c", settings, ...users));
  const broker = `127.0.0.1:${ports.plain}`;
  const secure = ports.secure === undefined ? null : { broker: `127.0.0.1:${ports.secure}`, ca };
  const start = () => started(java("kafka.Kafka", settings), { folder, broker, clusterId });
  let child: ChildProcess | null = await start();
  const kill = async () => {
    if (child !== null) await ended(child);
    child = null;
  };
  return {
    ...{ url: `kafka://${broker}`, broker, secure, kill },
    async restart() {
      await kill();
      child = await start();
    },
    async stop() {
      await kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Expected {
  folder: string;
  broker: string;
  clusterId: string;
}

/** @throws {Error} the broker ended, or another server answers at its address */
async function started(args: readonly string[], { folder, broker, clusterId }: Expected): Promise<ChildProcess> {
  const child = spawn("java", args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (data) => {
      output = (output + String(data)).slice(-10_000);
    });
  if (running.size === 0) process.once("exit", killAll);
  running.set(child, folder);
  const untilMs = Date.now() + START_MAX_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`Kafka ended with exit code ${child.exitCode}:\n${output}`);
    const found = await clusterIdAt(broker);
    if (found === clusterId) return child;
    if (found !== null || Date.now() > untilMs) {
      await ended(child);
      throw new Error(found === null ? `Kafka did not answer:\n${output}` : `another Kafka (${found}) is at ${broker}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await exit;
  }
  running.delete(child);
  if (running.size === 0) process.removeListener("exit", killAll);
}

/** Id of the cluster that answers at an address; null: no server answers. */
async function clusterIdAt(broker: string): Promise<string | null> {
  const admin = new Admin({ clientId: "start-kafka", bootstrapBrokers: [broker], retries: 0, connectTimeout: 1_000 });
  try {
    return (await admin.metadata({ forceUpdate: true })).id;
  } catch {
    return null;
  } finally {
    await admin.close().catch(() => undefined);
  }
}

interface Ports {
  plain: number;
  controller: number;
  /** undefined: there is no such listener. */
  secure: number | undefined;
}

function settingsOf(folder: string, ports: Ports, more: Readonly<Record<string, string>>): string {
  const plain = `PLAINTEXT://127.0.0.1:${ports.plain}`;
  const reachable = ports.secure === undefined ? plain : `${plain},SECURE://127.0.0.1:${ports.secure}`;
  const settings = {
    "process.roles": "broker,controller",
    "node.id": 1,
    listeners: `${reachable},CONTROLLER://127.0.0.1:${ports.controller}`,
    "advertised.listeners": reachable,
    "controller.quorum.voters": `1@127.0.0.1:${ports.controller}`,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
    "inter.broker.listener.name": "PLAINTEXT",
    "log.dirs": join(folder, "data"),
    "auto.create.topics.enable": false,
    "default.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "group.initial.rebalance.delay.ms": 0,
    // A broker that was killed must not wait long for the end of its former session.
    "broker.session.timeout.ms": 3_000,
    "broker.heartbeat.interval.ms": 500,
    ...more,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join("");
}

function killAll(): void {
  for (const [child, folder] of running) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
