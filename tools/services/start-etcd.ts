import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { newAuthority } from "./certificates.ts";
import { installDebianPackage } from "./debian.ts";

const PROGRAM = "/usr/bin/etcd";
const START_MAX_MS = 180_000;

/** A cluster of etcd for tests, on the loopback address, with new and empty data folders. */
export interface TestEtcd {
  /** Address of all members in the form of MAINSPRING_ETCD. */
  readonly url: string;
  readonly members: readonly TestMember[];
  /** Paths of PEM files; null: the cluster speaks without TLS. */
  readonly tls: { ca: string; cert: string; key: string } | null;
  /** Asks a member that answers by etcd's JSON interface: `path` as `kv/range`. @throws {Error} no member answers */
  ask(path: string, body: object, token?: string): Promise<Record<string, unknown>>;
  /** Sets a root user and makes all further requests need a login. */
  demandLogin(password: string): Promise<void>;
  /** Ends all members and removes their data. Repeated calls do nothing. */
  stop(): Promise<void>;
}

/** A member of the cluster. Each signal is sent to this process alone. */
export interface TestMember {
  /** host:port */
  readonly endpoint: string;
  /** Process id; of a killed member the last one. */
  readonly pid: number;
  /** Kills the member as a power cut would. The data stays. */
  kill(): Promise<void>;
  /** Starts a killed member again, at the same address and with its data. Resolves when it answers. */
  restart(): Promise<void>;
  /** Makes the member stand still until `resume`. */
  freeze(): void;
  resume(): void;
  /** Whether the member leads; false as well if it does not answer. */
  leads(): Promise<boolean>;
}

export interface EtcdOptions {
  /** Number of members; default 3. */
  members?: number;
  /** Whether clients need TLS and a certificate; default: no. */
  tls?: boolean;
}

/** Clusters that run now, so that none stays behind when the process exits without stopping it. */
const running = new Map<string, Set<ChildProcess>>();

/** Starts a cluster. It ends with this process at the latest. */
export async function startEtcd({ members: count = 3, tls: hasTls = false }: EtcdOptions = {}): Promise<TestEtcd> {
  if (!existsSync(PROGRAM)) await installDebianPackage("etcd-server", "this system has no etcd");
  const folder = await mkdtemp(join(tmpdir(), "etcd-"));
  const tls = hasTls ? await makeCertificates(folder) : null;
  const token = randomBytes(8).toString("hex");
  const ports = await freePorts(2 * count);
  const members = Array.from({ length: count }, (_, n) => ({
    name: `${token}-${n}`,
    endpoint: `127.0.0.1:${ports[2 * n]}`,
    peer: `http://127.0.0.1:${ports[2 * n + 1]}`,
    id: null,
  }));
  const asking =
    tls === null ? null : { ca: await readFile(tls.ca), cert: await readFile(tls.cert), key: await readFile(tls.key) };
  const cluster: Cluster = { folder, token, members, tls, asking };
  if (running.size === 0) process.once("exit", killAll);
  running.set(folder, new Set());
  const stop = async () => {
    await Promise.all([...(running.get(folder) ?? [])].map((child) => ended(child, folder)));
    running.delete(folder);
    if (running.size === 0) process.removeListener("exit", killAll);
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    const started = await Promise.all(members.map((member) => startMember(cluster, member)));
    const scheme = tls === null ? "http" : "https";
    const files = tls === null ? "" : `?ca=${tls.ca}&cert=${tls.cert}&key=${tls.key}`;
    const ask = (path: string, body: object, login?: string) => askAny(cluster, path, body, login);
    return {
      url: `${scheme}://${members.map(({ endpoint }) => endpoint).join(",")}/test${files}`,
      ...{ members: started, tls, ask, stop },
      demandLogin: (password) => demandLogin(ask, password),
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Member {
  name: string;
  endpoint: string;
  peer: string;
  /** Id that etcd has given to the member; null: not known yet. */
  id: string | null;
}

interface Cluster {
  folder: string;
  token: string;
  members: readonly Member[];
  tls: TestEtcd["tls"];
  /** Contents of the PEM files. */
  asking: { ca: Buffer; cert: Buffer; key: Buffer } | null;
}

async function startMember(cluster: Cluster, member: Member): Promise<TestMember> {
  let child: ChildProcess | null = await started(cluster, member);
  let pid = child.pid ?? 0;
  return {
    endpoint: member.endpoint,
    get pid() {
      return pid;
    },
    async kill() {
      if (child !== null) await ended(child, cluster.folder);
      child = null;
    },
    async restart() {
      child ??= await started(cluster, member);
      pid = child.pid ?? 0;
    },
    freeze: () => void child?.kill("SIGSTOP"),
    resume: () => void child?.kill("SIGCONT"),
    async leads() {
      const answer = await ask(cluster, member, "maintenance/status", {}).catch(() => null);
      const { leader, header } = (answer ?? {}) as { leader?: string; header?: { member_id?: string } };
      return leader !== undefined && leader === header?.member_id;
    },
  };
}

/** @throws {Error} the member ended, or another server answers at its address */
async function started(cluster: Cluster, member: Member): Promise<ChildProcess> {
  const child = spawn(PROGRAM, argumentsOf(cluster, member), { stdio: ["ignore", "ignore", "pipe"] });
  running.get(cluster.folder)?.add(child);
  let output = "";
  child.stderr?.on("data", (data) => {
    output = (output + String(data)).slice(-10_000);
  });
  const untilMs = Date.now() + START_MAX_MS;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`etcd ended with exit code ${child.exitCode}:\n${output}`);
    const isOurs = await isOurMember(cluster, member);
    if (isOurs) return child;
    if (isOurs !== null || Date.now() > untilMs) {
      await ended(child, cluster.folder);
      throw new Error(isOurs === null ? `etcd did not answer:\n${output}` : `another etcd is at ${member.endpoint}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function ended(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }
  running.get(folder)?.delete(child);
}

/**
 * Whether the member itself answers at its address: the names of members have the token of the cluster. Later the id of the member
 * tells, because a cluster with a login does not list its members.
 * @returns null: no server answers
 */
async function isOurMember(cluster: Cluster, member: Member): Promise<boolean | null> {
  try {
    const metrics = await request(cluster, member, "GET", "metrics");
    const id = /^etcd_server_id\{server_id="(\w+)"\}/m.exec(metrics)?.[1] ?? null;
    if (member.id !== null) return id === member.id;
    const { members } = await ask(cluster, member, "cluster/member/list", {});
    member.id = id;
    return ((members ?? []) as { name?: string }[]).some(({ name }) => name === member.name);
  } catch {
    return null;
  }
}

async function askAny(cluster: Cluster, path: string, body: object, token?: string): Promise<Record<string, unknown>> {
  let last: unknown;
  for (const member of cluster.members) {
    try {
      return await ask(cluster, member, path, body, token);
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

async function ask(
  cluster: Cluster,
  member: Member,
  path: string,
  body: object,
  token?: string,
): Promise<Record<string, unknown>> {
  return JSON.parse(await request(cluster, member, "POST", `v3/${path}`, { body, token })) as Record<string, unknown>;
}

function request(
  { asking }: Cluster,
  { endpoint }: Member,
  method: "GET" | "POST",
  path: string,
  { body, token }: { body?: object; token?: string | undefined } = {},
): Promise<string> {
  const headers = { "content-type": "application/json", ...(token !== undefined && { authorization: token }) };
  const options = { method, headers, timeout: 2_000, agent: false, ...asking };
  return new Promise((resolve, reject) => {
    const url = `${asking === null ? "http" : "https"}://${endpoint}/${path}`;
    const call = (asking === null ? httpRequest : httpsRequest)(url, options, async (response) => {
      let text = "";
      for await (const chunk of response) text += String(chunk);
      if (response.statusCode === 200) resolve(text);
      else reject(new Error(`etcd answers ${response.statusCode} to ${path}: ${text}`));
    });
    call.on("timeout", () => call.destroy(new Error("etcd did not answer in time")));
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

async function demandLogin(asked: TestEtcd["ask"], password: string): Promise<void> {
  await asked("auth/user/add", { name: "root", password });
  await asked("auth/user/grant", { user: "root", role: "root" });
  await asked("auth/enable", {});
}

function argumentsOf({ folder, token, members, tls }: Cluster, { name, endpoint, peer }: Member): string[] {
  const client = `${tls === null ? "http" : "https"}://${endpoint}`;
  const settings = {
    ...{ name, "data-dir": join(folder, name), "initial-cluster-token": token, "initial-cluster-state": "new" },
    ...{ "listen-client-urls": client, "advertise-client-urls": client },
    ...{ "listen-peer-urls": peer, "initial-advertise-peer-urls": peer },
    "initial-cluster": members.map((one) => `${one.name}=${one.peer}`).join(","),
    "log-level": "error",
    ...(tls !== null && {
      "cert-file": join(folder, "member.crt"),
      "key-file": join(folder, "member.key"),
      "trusted-ca-file": tls.ca,
    }),
  };
  const flags = Object.entries(settings).map(([flag, value]) => `--${flag}=${value}`);
  return [...flags, "--logger=zap", "--log-outputs=stderr", ...(tls === null ? [] : ["--client-cert-auth"])];
}

/** Makes an authority, and certificates of it for the members and for a client. */
async function makeCertificates(folder: string): Promise<NonNullable<TestEtcd["tls"]>> {
  const authority = await newAuthority(folder, "authority");
  await authority.issue("member", ["IP:127.0.0.1"]);
  const { certFile: cert, keyFile: key } = await authority.issue("client", ["DNS:client"]);
  return { ca: authority.certFile, cert, key };
}

async function freePorts(count: number): Promise<number[]> {
  // All are taken at once, so that no two are the same.
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

function killAll(): void {
  for (const [folder, children] of running) {
    for (const child of children) child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
