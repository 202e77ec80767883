import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import {
  Client,
  type SpawnNode,
  type TaskContext,
  TerminalError,
  task,
  Worker,
  type WorkflowNode,
  type WorkflowRequest,
} from "@mainspring/sdk";
import { freePort } from "../../../tools/services/free-port.ts";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { Hold } from "./workflow-tasks.fixture.ts";

const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;

/** A node that a handler adds, and the nodes that its own handler adds. */
interface Added {
  name: string;
  after?: readonly string[];
  detached?: true;
  adds?: readonly Added[];
}

const ADDS: readonly Added[] = [
  { name: "p0", adds: [{ name: "deep", adds: [{ name: "deeper" }] }] },
  { name: "p1" },
  { name: "p2", adds: [{ name: "x" }, { name: "y", after: ["x"] }, { name: "late", after: ["y"], detached: true }] },
  { name: "sum", after: ["p0", "p1", "p2"] },
  { name: "mail", after: ["p1"], detached: true },
];

interface Work {
  label: string;
  node: string;
  adds?: readonly Added[];
}

/** A run whose first node adds nodes, and whose last one waits for them. */
function requestOf(label: string, onFailure: "FAIL_FAST" | "CONTINUE" = "FAIL_FAST"): WorkflowRequest {
  const target = { handler: "work" };
  return {
    ...{ name: label, onFailure },
    nodes: [
      { name: "list", target, payload: { label, node: "list", adds: ADDS } },
      { name: "done", target, payload: { label, node: "done" }, dependsOn: ["list"] },
    ],
  };
}

/** Nodes that must end before the nodes behind a node start. */
function heldBy(name: string, adds: readonly Added[] = []): string[] {
  const own = adds.filter(({ detached }) => detached !== true);
  return [name, ...own.flatMap((added) => heldBy(`${name}/${added.name}`, added.adds))];
}

/** Pairs of nodes of which the first must end before the second starts. */
function orderOf(spawner: string, adds: readonly Added[]): [string, string][] {
  return adds.flatMap(({ name, after: parents = [], adds: own = [] }): [string, string][] => {
    const full = `${spawner}/${name}`;
    const earlier = parents.flatMap((parent) =>
      heldBy(`${spawner}/${parent}`, adds.find((added) => added.name === parent)?.adds),
    );
    return [[spawner, full], ...earlier.map((one): [string, string] => [one, full]), ...orderOf(full, own)];
  });
}

const ORDER: [string, string][] = [
  ...orderOf("list", ADDS),
  ...heldBy("list", ADDS).map((one): [string, string] => [one, "done"]),
];
const NAMES = [...new Set(ORDER.flat())].sort();

describe("nodes that handlers add, over HTTP, on PostgreSQL, with a server that is killed", () => {
  const folder = mkdtempSync(join(tmpdir(), "spawned-nodes-"));
  const file = join(folder, "worked");
  let postgres: TestPostgres;
  let server: ChildProcess;
  let settings: Record<string, string>;
  let client: Client;
  let worker: Worker;
  const holds = new Hold();
  const held = new Set<string>();
  const broken = new Set<string>();

  const work = task({
    name: "work",
    run: async ({ label, node, adds = [] }: Work, ctx) => {
      const key = `${label} ${node}`;
      appendFileSync(file, `${key} ${ctx.attempt} begins\n`);
      if (held.has(key)) await holds.run(key, ctx);
      if (broken.has(key)) throw new TerminalError(`no ${node}`);
      for (const one of adds) add(ctx, { label, node }, one);
      appendFileSync(file, `${key} ${ctx.attempt} ends\n`);
      return node;
    },
  });
  function add(ctx: TaskContext, { label, node }: Work, { name, after: dependsOn, detached, adds = [] }: Added): void {
    const payload = { label, node: `${node}/${name}`, adds };
    const added: SpawnNode = { name, task: work, payload, ...(dependsOn && { dependsOn }) };
    ctx.spawn([added], detached === undefined ? {} : { detached });
  }

  const start = async () => {
    const env = { ...process.env, ...settings };
    server = spawn(process.execPath, [PROGRAM, "serve"], { stdio: "ignore", env });
    const health = `http://${settings["MAINSPRING_HTTP"]}/healthz`;
    await until(async () => {
      assert.equal(server.exitCode, null, "the server runs");
      return (await fetch(health).catch(() => null))?.ok === true;
    });
  };
  const kill = async () => {
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  };
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    const [http, grpc] = [await freePort(), await freePort()];
    settings = {
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_LOG_LEVEL: "fatal" },
      ...{ MAINSPRING_HTTP: `127.0.0.1:${http}`, MAINSPRING_GRPC: `127.0.0.1:${grpc}` },
    };
    await start();
    client = new Client({ url: `http://127.0.0.1:${http}` });
    worker = new Worker({ url: `127.0.0.1:${grpc}`, slots: 60, tasks: [work], warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker?.stop();
    if (server?.exitCode === null) server.kill("SIGKILL");
    await postgres?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const nodesOf = async (run: string): Promise<Map<string, WorkflowNode>> => {
    const found = new Map<string, WorkflowNode>();
    for await (const one of client.workflows.nodes(run)) found.set(one.name, one);
    return found;
  };
  /** Lines that the worker has written about a run: `node attempt begins` or `node attempt ends`. */
  const linesOf = (label: string) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.startsWith(`${label} `))
      .map((line) => line.slice(label.length + 1));
  /** Judges by the worker's file that each node has run in its turn, and once but for repeated attempts. */
  const judge = async (label: string, run: string) => {
    const lines = linesOf(label);
    const nodes = await nodesOf(run);
    assert.deepEqual([...nodes.keys()].sort(), NAMES);
    for (const [name, { state, attempt }] of nodes) {
      assert.equal(state, "SUCCEEDED", name);
      const begun = lines.filter((line) => line.startsWith(`${name} `) && line.endsWith(" begins"));
      assert.equal(new Set(begun).size, begun.length, `${label}: an attempt of ${name} began twice`);
      assert.ok(
        begun.length >= 1 && begun.length <= attempt,
        `${label}: ${name} began ${begun.length} of ${attempt} times`,
      );
      if (attempt === 1) assert.equal(lines.filter((line) => line === `${name} 1 ends`).length, 1);
    }
    for (const [earlier, later] of ORDER) {
      const end = lines.findIndex((line) => line.startsWith(`${earlier} `) && line.endsWith(" ends"));
      const begin = lines.findIndex((line) => line.startsWith(`${later} `));
      assert.ok(end >= 0 && end < begin, `${label}: ${earlier} ends before ${later} begins: ${lines.join(", ")}`);
    }
  };

  it("run once each and in their order although the server is killed while they run", async () => {
    const labels = Array.from({ length: 8 }, (_, n) => `held-${n}`);
    const keys = labels.flatMap((label) => ["list/p1", "list/p2"].map((name) => `${label} ${name}`));
    for (const key of keys) held.add(key);
    const begun = Promise.all(keys.map((key) => holds.begins(key)));
    const runs: string[] = [];
    for (const label of labels) runs.push((await client.workflows.submit(requestOf(label))).workflowId);
    await begun;
    await kill();
    held.clear();
    // Half of the handlers end while there is no server.
    for (const key of keys.filter((_, n) => n % 2 === 0)) holds.goOn(key);
    await start();
    for (const key of keys) holds.goOn(key);
    for (const [n, run] of runs.entries()) {
      const { state, nodes, counts } = await client.workflows.waitFor(run);
      assert.deepEqual([state, nodes, counts.SUCCEEDED], ["SUCCEEDED", NAMES.length, NAMES.length]);
      await judge(labels[n] as string, run);
    }
  });

  it("run once each and in their order although servers are killed at any time", async () => {
    const runs = new Map<string, string>();
    const written = () => readFileSync(file, "utf8").split("\n").length;
    for (const round of [1, 2, 3]) {
      // A worker may keep up with the submits, so the lines count from before them.
      const begun = written();
      for (let n = 0; n < 30; n++) {
        const label = `fast-${round}-${n}`;
        runs.set(label, (await client.workflows.submit(requestOf(label))).workflowId);
      }
      await until(() => written() > begun + 20 * round);
      await kill();
      await start();
    }
    for (const [label, run] of runs) {
      assert.equal((await client.workflows.waitFor(run)).state, "SUCCEEDED", label);
      await judge(label, run);
    }
  });

  it("fail their run, whose retry keeps what its kept nodes have added, and runs the rest", async () => {
    broken.add("failed list/p2/x");
    const first = (await client.workflows.submit(requestOf("failed", "CONTINUE"))).workflowId;
    const { state, failed } = await client.workflows.waitFor(first);
    assert.deepEqual([state, failed[0]?.name, failed[0]?.error?.message], ["DEAD", "list/p2/x", "no list/p2/x"]);
    broken.clear();
    const before = linesOf("failed").length;
    const { workflowId } = await client.workflows.retry(first);
    assert.equal((await client.workflows.waitFor(workflowId)).state, "SUCCEEDED");
    const again = new Set(
      linesOf("failed")
        .slice(before)
        .map((line) => line.split(" ")[0]),
    );
    for (const name of ["list/p2/x", "list/p2/y", "list/p2/late", "list/sum", "done"]) assert.ok(again.has(name), name);
    for (const name of ["list", "list/p1", "list/p2"]) assert.ok(!again.has(name), name);
    const nodes = await nodesOf(workflowId);
    assert.deepEqual([...nodes.keys()].sort(), NAMES);
    assert.equal(nodes.get("list/p2")?.keptFrom?.workflowId, first);
    assert.equal(nodes.get("list/p2/x")?.keptFrom, null);

    const anew = (await client.workflows.retry(workflowId, { from: ["list/p2"] })).workflowId;
    assert.equal((await client.workflows.waitFor(anew)).state, "SUCCEEDED");
    assert.deepEqual([...(await nodesOf(anew)).keys()].sort(), NAMES, "the handler has added its nodes again");
    const { nodes: drawn } = await client.workflows.graph(anew);
    assert.deepEqual(drawn.map(({ name }) => name).sort(), NAMES);
    assert.equal(drawn.find(({ name }) => name === "list/p2/x")?.addedBy, "list/p2");
  });
});
