import { type ChildProcess, execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { Admin } from "@platformatic/kafka";
import { freePort } from "./free-port.ts";
import { kafkaJars } from "./kafka-jars.ts";
import { makeCertificates, type SecureListener, scramUsers, securitySettings } from "./kafka-security.ts";

const run = promisify(execFile);

/** A broker that is killed and started again while the first one, the controller, goes on. */
export interface TestBroker {
  /** host:port */
  readonly broker: string;
  /** Id of the broker, as the metadata of topics name it. */
  readonly id: number;
  /** See TestKafka. */
  kill(): Promise<void>;
  restart(): Promise<void>;
}

/** A broker of Kafka for tests, which is its own controller, on a new and empty data folder. */
export interface TestKafka {
  /** Address in the form of MAINSPRING_KAFKA. */
  readonly url: string;
  /** host:port */
  readonly broker: string;
  /** Listener with TLS and login; null: there is none. */
  readonly secure: { broker: string; ca: string } | null;
  /** Second broker; null: there is none. With it, topics have two replicas. */
  readonly second: TestBroker | null;
  /** Process of the broker; 0: it does not run. */
  readonly pid: number;
  /** Kills the broker as a power cut would. The data stays. */
  kill(): Promise<void>;
  /** Starts a killed broker again, at the same address and with its data. Resolves when it answers. */
  restart(): Promise<void>;
  /** Makes the broker stand still, as if its machine did. */
  freeze(): void;
  /** Lets the broker continue. */
  resume(): void;
  /** Deletes a topic, if it exists. */
  deleteTopic(name: string): Promise<void>;
  /** Kills the broker and removes its data. Repeated calls do nothing. */
  stop(): Promise<void>;
}

/** Options of the JVM: small, and quick to start. */
const JAVA = ["-Xms128m", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"];
const START_MAX_MS = 180_000;

/** Servers that run now, so that none stays behind when the process exits without stopping it. */
const running = new Map<ChildProcess, string>();

/** A listener for one program alone, so that its link can be disturbed. */
export interface ExtraListener {
  port: number;
  /** host:port at which the program reaches the listener. */
  advertised: string;
}

interface KafkaOptions {
  /** Version of Kafka; default: 4.1.0. */
  version?: string;
  /** Listener with TLS and login; default: none. */
  secure?: SecureListener;
  /** Listeners in addition to the plain one; default: none. */
  extra?: readonly ExtraListener[];
  /** Whether there is a second broker; default: no. */
  hasSecond?: boolean;
}

/** Starts a broker that listens on the loopback address only. It ends with this process at the latest. */
export async function startKafka(options: KafkaOptions = {}): Promise<TestKafka> {
  const jars = join(await kafkaJars(options.version ?? null), "*");
  const folder = await mkdtemp(join(tmpdir(), "kafka-"));
  const clusterId = randomBytes(16).toString("base64url");
  const { secure: security, extra = [], hasSecond = false } = options;
  const ports = { plain: await freePort(), controller: await freePort(), secure: security && (await freePort()) };
  const ca = security ? await makeCertificates(folder) : "";
  const java = (...args: string[]) => [...JAVA, "-cp", jars, ...args];
  const broker = `127.0.0.1:${ports.plain}`;
  const replicas = hasSecond ? { "default.replication.factor": "2" } : {};
  const first = new BrokerProcess(folder, { folder, broker, clusterId }, java, {
    ...firstSettings(folder, ports, extra),
    ...replicas,
    ...(security ? securitySettings(folder, security) : {}),
  });
  await first.format(security ? scramUsers(security) : []);
  await first.start();
  let second: TestBroker | null = null;
  const brokers = [first];
  if (hasSecond) {
    const port = await freePort();
    const own = join(folder, "second");
    await mkdir(own);
    const process = new BrokerProcess(own, { folder, broker: `127.0.0.1:${port}`, clusterId }, java, {
      ...secondSettings(own, port, ports.controller),
      ...replicas,
    });
    await process.format([]);
    await process.start();
    brokers.push(process);
    second = {
      ...{ broker: `127.0.0.1:${port}`, id: 2, kill: () => process.kill() },
      restart: () => process.restart(),
    };
  }
  return {
    url: `kafka://${[broker, ...(second === null ? [] : [second.broker])].join(",")}`,
    ...{ broker, second, secure: ports.secure === undefined ? null : { broker: `127.0.0.1:${ports.secure}`, ca } },
    get pid() {
      return first.pid;
    },
    kill: () => first.kill(),
    restart: () => first.restart(),
    freeze: () => first.signal("SIGSTOP"),
    resume: () => first.signal("SIGCONT"),
    deleteTopic: (name) => deleteTopic(broker, name),
    async stop() {
      for (const one of brokers.toReversed()) await one.kill();
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** One broker, with its settings and data in a folder. */
class BrokerProcess {
  readonly #settings: string;
  readonly #text: string;
  readonly #expected: Expected;
  readonly #java: (...args: string[]) => string[];
  #child: ChildProcess | null = null;

  constructor(
    folder: string,
    expected: Expected,
    java: (...args: string[]) => string[],
    settings: Readonly<Record<string, string | number | boolean>>,
  ) {
    this.#settings = join(folder, "server.properties");
    this.#text = Object.entries(settings)
      .map(([name, value]) => `${name}=${value}\n`)
      .join("");
    this.#expected = expected;
    this.#java = java;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  async format(users: readonly string[]): Promise<void> {
    await writeFile(this.#settings, this.#text);
    const { clusterId } = this.#expected;
    // An id may begin with "-", which the tool takes for an option unless "=" comes before it.
    const format = ["kafka.tools.StorageTool", "format", `--cluster-id=${clusterId}`, "-c", this.#settings];
    await run("java", this.#java(...format, ...users));
  }

  async start(): Promise<void> {
    this.#child = await started(this.#java("kafka.Kafka", this.#settings), this.#expected);
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child !== null) await ended(child);
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  signal(name: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(name);
  }
}

async function deleteTopic(broker: string, name: string): Promise<void> {
  const admin = new Admin({ clientId: "start-kafka", bootstrapBrokers: [broker], retries: 3 });
  try {
    if ((await admin.listTopics()).includes(name)) await admin.deleteTopics({ topics: [name] });
  } finally {
    await admin.close().catch(() => undefined);
  }
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

function firstSettings(folder: string, ports: Ports, extra: readonly ExtraListener[]) {
  const own = extra.map(({ port, advertised }, index) => ({
    name: `OWN${index}`,
    listens: `OWN${index}://127.0.0.1:${port}`,
    advertised: `OWN${index}://${advertised}`,
  }));
  const plain = `PLAINTEXT://127.0.0.1:${ports.plain}`;
  const secure = ports.secure === undefined ? [] : [`SECURE://127.0.0.1:${ports.secure}`];
  const protocols = ["PLAINTEXT:PLAINTEXT", "CONTROLLER:PLAINTEXT", "SECURE:SASL_SSL"];
  return {
    ...commonSettings(folder, ports.controller),
    "process.roles": "broker,controller",
    "node.id": 1,
    listeners: [
      ...[plain, ...secure, ...own.map(({ listens }) => listens)],
      `CONTROLLER://127.0.0.1:${ports.controller}`,
    ].join(","),
    "advertised.listeners": [plain, ...secure, ...own.map(({ advertised }) => advertised)].join(","),
    "listener.security.protocol.map": [...protocols, ...own.map(({ name }) => `${name}:PLAINTEXT`)].join(","),
  };
}

function secondSettings(folder: string, port: number, controller: number) {
  return {
    ...commonSettings(folder, controller),
    "process.roles": "broker",
    "node.id": 2,
    listeners: `PLAINTEXT://127.0.0.1:${port}`,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
  };
}

function commonSettings(folder: string, controller: number) {
  return {
    "controller.quorum.voters": `1@127.0.0.1:${controller}`,
    "controller.listener.names": "CONTROLLER",
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
  };
}

function killAll(): void {
  for (const [child, folder] of running) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
