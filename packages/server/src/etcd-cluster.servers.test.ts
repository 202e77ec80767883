import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { PROTOCOL_VERSION, StepKind } from "@mainspring/proto";
import { Client, task, Worker } from "@mainspring/sdk";
import { startEtcd, type TestEtcd } from "../../../tools/services/start-etcd.ts";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { Peer } from "./gateway/connections/grpc-peer.fixture.ts";

const runtime = systemRuntime();
const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;

async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** A node of a cluster, as a process of its own. */
interface SpawnedNode {
  child: ChildProcess;
  http: string;
  grpc: string;
  output: () => string;
}

describe("three nodes with their leases in etcd", () => {
  let postgres: TestPostgres;
  let etcd: TestEtcd;
  const nodes: SpawnedNode[] = [];
  /** Attempts of each job, by its payload. */
  const ran = new Map<string, number>();
  const workers: Worker[] = [];
  const note = task({
    name: "note",
    run: async (key: string) => {
      ran.set(key, (ran.get(key) ?? 0) + 1);
      return key;
    },
  });

  before(async () => {
    [postgres, etcd] = await Promise.all([startPostgres({ version: 14 }), startEtcd()]);
  });
  afterEach(async () => {
    for (const member of etcd.members) member.resume();
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
    for (const { child } of nodes.splice(0))
      if (child.exitCode === null && child.signalCode === null) await killed(child);
    ran.clear();
  });
  after(async () => {
    await etcd?.stop();
    await postgres?.stop();
  });

  const killed = async (child: ChildProcess) => {
    const exited = once(child, "exit");
    child.kill("SIGKILL");
    await exited;
  };
  const spawnNode = async (schema: string, settings: Record<string, string>): Promise<SpawnedNode> => {
    const [http, grpc] = (await freePorts(2)).map((port) => `127.0.0.1:${port}`) as [string, string];
    const env = {
      ...process.env,
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_STORE_SCHEMA: schema, MAINSPRING_BUS: "mesh" },
      ...{ MAINSPRING_HTTP: http, MAINSPRING_GRPC: grpc, MAINSPRING_LOG_LEVEL: "warn", MAINSPRING_STOP_DELAY_SEC: "0" },
      ...{ MAINSPRING_LEASES: "etcd", MAINSPRING_ETCD: etcd.url.replace("/test", `/${schema}`), ...settings },
    };
    const child = spawn(process.execPath, [PROGRAM, "serve"], { stdio: ["ignore", "pipe", "pipe"], env });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (data) => {
        output += String(data);
      });
    const node = { child, http, grpc, output: () => output };
    nodes.push(node);
    return node;
  };
  const isReady = async ({ child, http, output }: SpawnedNode) => {
    assert.equal(child.exitCode, null, output());
    return (await fetch(`http://${http}/readyz`).catch(() => null))?.ok === true;
  };
  /** Starts nodes one after the other, with a worker that knows all of them. */
  const startNodes = async (schema: string, ...settings: Record<string, string>[]): Promise<SpawnedNode[]> => {
    const started: SpawnedNode[] = [];
    for (const own of settings) {
      const node = await spawnNode(schema, own);
      await until(() => isReady(node));
      started.push(node);
    }
    const url = started.map(({ grpc }) => grpc).join(",");
    const worker = new Worker({ url, slots: 50, tasks: [note], warn: () => undefined });
    workers.push(worker);
    await worker.start();
    return started;
  };
  const clientOf = ({ http }: SpawnedNode) => new Client({ url: `http://${http}` });
  const ownersOf = async (node: SpawnedNode): Promise<Map<string, number>> => {
    const { nodes: listed } = await clientOf(node).cluster.status();
    return new Map(listed.filter(({ state }) => state !== "GONE").map(({ address, shards }) => [address, shards]));
  };
  /** Owners of all shards, once every shard has one. */
  const divided = async (node: SpawnedNode, among: readonly SpawnedNode[]) => {
    await until(async () => {
      const owners = await ownersOf(node).catch(() => new Map<string, number>());
      return (
        [...owners.values()].reduce((sum, shards) => sum + shards, 0) === 64 &&
        [...owners]
          .filter(([, shards]) => shards > 0)
          .map(([address]) => address)
          .sort()
          .join() ===
          among
            .map(({ grpc }) => grpc)
            .sort()
            .join()
      );
    });
  };
  const submit = async (node: SpawnedNode, key: string): Promise<string> => {
    const { executionId } = await clientOf(node).submit({ target: { handler: "note" }, payload: key });
    return executionId as string;
  };
  const succeeds = async (node: SpawnedNode, executionId: string) => {
    const { state } = await clientOf(node).waitForExecution(executionId);
    assert.equal(state, "SUCCEEDED");
  };
  /** Runs jobs of all shards, each once. */
  const runJobs = async (node: SpawnedNode, label: string) => {
    const keys = Array.from({ length: 64 }, (_, n) => `${label}-${n}`);
    const ids = await Promise.all(keys.map((key) => submit(node, key)));
    for (const id of ids) await succeeds(node, id);
    for (const key of keys) assert.equal(ran.get(key), 1, key);
  };

  it("go on when the owner of shards is killed, and stand still with etcd", async (t) => {
    const [first, second, third] = (await startNodes("killed", {}, {}, {})) as [SpawnedNode, SpawnedNode, SpawnedNode];
    await divided(first, [first, second, third]);
    await runJobs(first, "before");
    await killed(second.child);
    const killedMs = runtime.monotonicMs();
    await divided(first, [first, third]);
    t.diagnostic(`others had the shards of the killed node after ${Math.round(runtime.monotonicMs() - killedMs)} ms`);
    await runJobs(first, "killed");

    const most = etcd.members.slice(1);
    for (const member of most) member.freeze();
    const frozenMs = runtime.monotonicMs();
    await until(async () => !(await isReady(first)) && !(await isReady(third)));
    t.diagnostic(`owners had stopped ${Math.round(runtime.monotonicMs() - frozenMs)} ms after etcd stood still`);
    const held = await submit(first, "held");
    assert.equal((await clientOf(first).getExecution(held)).state, "PENDING");
    assert.equal(ran.has("held"), false);
    for (const member of most) member.resume();
    const resumedMs = runtime.monotonicMs();
    await succeeds(first, held);
    t.diagnostic(`work went on ${Math.round(runtime.monotonicMs() - resumedMs)} ms after etcd did`);
    await divided(first, [first, third]);
    await runJobs(first, "resumed");
    assert.match(first.output(), /etcd did not answer about the nodes' leases/);
  });

  it("have one leader where all want one, whose work a standby takes over", async (t) => {
    const one = { MAINSPRING_LEADER: "one" };
    const [first, third] = (await startNodes("leader", one, one)) as [SpawnedNode, SpawnedNode];
    const leaderOf = async (node: SpawnedNode) => {
      const { leader, nodes: listed } = await clientOf(node).cluster.status();
      return listed.find(({ nodeId }) => nodeId === leader);
    };
    await divided(third, [first]);
    assert.equal(await isReady(third), true, "a standby is ready");
    await runJobs(third, "led");
    assert.equal((await leaderOf(third))?.address, first.grpc);
    await killed(first.child);
    const killedMs = runtime.monotonicMs();
    await divided(third, [third]);
    t.diagnostic(
      `a standby had all shards ${Math.round(runtime.monotonicMs() - killedMs)} ms after the leader was killed`,
    );
    await runJobs(third, "taken over");

    const fourth = await spawnNode("leader", one);
    await until(() => isReady(fourth));
    await divided(third, [third]);
    await clientOf(third).cluster.drain((await leaderOf(third))?.nodeId as string);
    await until(async () => (await leaderOf(fourth))?.address === fourth.grpc);
    // A node that drains hands over one shard after the other.
    await until(async () => ((await ownersOf(fourth)).get(fourth.grpc) ?? 0) > 0);
  });

  it("work with nodes whose leases are in the store, and change to etcd and back one after the other", async () => {
    const store = { MAINSPRING_LEASES: "store" };
    const [first, second] = (await startNodes("changed", store, {})) as [SpawnedNode, SpawnedNode];
    await divided(first, [first, second]);
    await divided(second, [first, second]);
    await runJobs(first, "mixed");
    assert.match(second.output(), /keeps its lease elsewhere/);
    await killed(first.child);
    await divided(second, [second]);
    const third = await spawnNode("changed", {});
    await until(() => isReady(third));
    await divided(second, [second, third]);
    await killed(second.child);
    const fourth = await spawnNode("changed", store);
    await until(() => isReady(fourth));
    await divided(third, [third, fourth]);
    await divided(fourth, [third, fourth]);
  });

  it("start with a worker that connects while they wait for etcd, and that goes on with its steps", async () => {
    for (const member of etcd.members) member.freeze();
    const node = await spawnNode("waiting", {});
    await until(() => node.output().includes("the node waits for etcd, which does not answer yet"));
    const peer = new Peer(node.grpc);
    const token = { executionId: runtime.uuid(), attempt: 1, shard: 1 };
    const worker = { workerId: "worker-1", name: "worker-1", pool: "default", handlers: ["note"], slots: 1 };
    peer.say({ hello: { protocolVersion: PROTOCOL_VERSION, ...worker, holds: [{ token, startedAtMs: 1n }] } });
    await peer.next();
    peer.say({ steps: [{ token, number: 1, name: "paid", kind: StepKind.RESULT, data: Buffer.from("1") }] });
    peer.goodbye();
    await peer.status;
    for (const member of etcd.members) member.resume();
    await until(() => isReady(node));
    peer.close();
  });

  it("are not started with settings that do not fit, and say why", async () => {
    const [exits, url] = [new Map<string, RegExp>(), etcd.url];
    exits.set(url.replace("http://", "https://").concat("?ca=/no/file"), /MAINSPRING_ETCD must name a file that can/);
    for (const [address, sentence] of exits) {
      const { child, output } = await spawnNode("refused", { MAINSPRING_ETCD: address });
      const [code] = await once(child, "exit");
      assert.equal(code, 78, output());
      assert.match(output(), sentence);
    }
    const waiting = await spawnNode("refused", { MAINSPRING_ETCD: "http://127.0.0.1:1" });
    await until(() => waiting.output().includes("the node waits for etcd, which does not answer yet"));
    assert.match(waiting.output(), /etcd did not answer about the nodes' leases: .*ECONNREFUSED/);
  });
});
