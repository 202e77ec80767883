import assert from "node:assert/strict";
import process from "node:process";
import { afterEach, describe, it } from "node:test";
import { Client, MainspringError, task, Worker } from "@mainspring/sdk";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis } from "../../../tools/services/start-redis.ts";
import { startRedisPair, startReplica } from "../../../tools/services/start-redis-pair.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

/** Number of times that Redis is killed. */
const KILLS = Number(process.env["REDIS_KILLS"] ?? "3");
/** Number of times that a replica is promoted. */
const PROMOTIONS = Number(process.env["REDIS_PROMOTIONS"] ?? "2");
/** Jobs that are accepted before Redis is killed, and again after it has come back. */
const PER_KILL = 30;

/** Nodes on one Redis, two workers, and clients that submit jobs to each node. */
class Scene {
  readonly #nodes: RunningNode[] = [];
  readonly #workers: Worker[] = [];
  readonly #clients: Client[] = [];
  readonly #accepted: { payload: number; executionId: string }[] = [];
  /** Attempts of executions that handlers have begun, with the workers. */
  readonly #begun = new Map<string, string[]>();
  #isStopped = false;

  get accepted(): number {
    return this.#accepted.length;
  }

  get clients(): readonly Client[] {
    return this.#clients;
  }

  /** Starts a node for each of these settings, and connects the two workers to the first and the last of them. */
  async start(settings: readonly Readonly<Record<string, string>>[]): Promise<void> {
    for (const own of settings) {
      const local = { MAINSPRING_BUILTIN_WORKER: "off", MAINSPRING_STOP_DELAY_SEC: "0" };
      const node = await startLocalNode({ ...local, ...own });
      this.#nodes.push(node);
      this.#clients.push(new Client({ url: node.httpUrl }));
    }
    for (const [name, node] of [["first", this.#nodes.at(0)] as const, ["second", this.#nodes.at(-1)] as const]) {
      const url = node?.grpcAddress ?? "";
      const worker = new Worker({ url, name, slots: 20, tasks: [this.#square(name)], warn: () => undefined });
      this.#workers.push(worker);
      await worker.start();
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const worker of this.#workers) await worker.stop({ timeoutMs: 0 });
    for (const node of this.#nodes) await node.stop();
  }

  #square(worker: string) {
    return task({
      name: "square",
      run: (payload: number, { executionId, attempt }) => {
        const key = `${executionId}:${attempt}`;
        this.#begun.set(key, [...(this.#begun.get(key) ?? []), worker]);
        return payload * payload;
      },
    });
  }

  /** Submits jobs to all nodes again and again, until this many more have been accepted. */
  async load(more: number): Promise<void> {
    const enough = this.accepted + more;
    while (this.accepted < enough && !this.#isStopped) {
      const payload = this.accepted;
      const clients = Array.from({ length: 6 }, (_, at) => this.#clients[at % this.#clients.length] as Client);
      const submits = clients.map((client) => client.submit({ target: { handler: "square" }, payload }));
      for (const answer of await Promise.allSettled(submits))
        if (answer.status === "fulfilled") this.#accepted.push({ payload, executionId: answer.value.executionId });
    }
  }

  /** Every accepted job has succeeded once, and no attempt has begun twice. */
  async judge(): Promise<void> {
    for (const { payload, executionId } of this.#accepted) {
      const ended = await until(async () => {
        const execution = await this.#read(executionId);
        return execution?.finishedAt == null ? null : execution;
      });
      assert.deepEqual([ended.state, ended.result], ["SUCCEEDED", payload * payload]);
      const successes = ended.attempts.filter(({ state }) => state === "SUCCEEDED");
      assert.equal(successes.length, 1);
    }
    for (const [attempt, at] of this.#begun) assert.equal(at.length, 1, `${attempt} began at ${at}`);
  }

  /** @throws {MainspringError} the store has lost the execution */
  async #read(executionId: string) {
    return await this.#clients[0]?.getExecution(executionId, { waitSec: 10 }).catch((error: unknown) => {
      if (error instanceof MainspringError && error.status === 404) throw error;
      return null;
    });
  }
}

describe("nodes and workers under load whose Redis fails", () => {
  const opened: { stop(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.stop();
  });
  /** Stops it after the test, behind everything that was opened earlier. */
  function open<T extends { stop(): Promise<void> }>(one: T): T {
    opened.push(one);
    return one;
  }

  it(`ends every accepted job once, though Redis is killed ${KILLS} times`, async () => {
    const scene = open(new Scene());
    const redis = open(await startRedis({ settings: DURABLE }));
    await scene.start([{ MAINSPRING_STORE: redis.url }]);
    for (let kill = 0; kill < KILLS; kill++) {
      await scene.load(PER_KILL);
      const during = scene.load(PER_KILL);
      await redis.kill();
      await redis.restart();
      await during;
    }
    await scene.judge();
  });

  it(`ends every accepted job once, though a replica for which calls wait is promoted ${PROMOTIONS} times`, async () => {
    const scene = open(new Scene());
    let { primary, replica } = open(await startRedisPair());
    const { url, port } = primary;
    const settings = { MAINSPRING_STORE: url, MAINSPRING_REDIS_REPLICAS: "1", MAINSPRING_BUS: "mesh" };
    await scene.start([settings, settings]);
    for (const client of scene.clients)
      assert.deepEqual((await client.stats()).durability, { store: "REDIS", disk: "ALWAYS", replicas: 1 });
    for (let promotion = 0; promotion < PROMOTIONS; promotion++) {
      await scene.load(PER_KILL);
      const underLoad = scene.accepted;
      const during = scene.load(PER_KILL);
      await until(() => scene.accepted > underLoad);
      await primary.kill();
      await replica.promote();
      await replica.moveTo(port);
      primary = replica;
      // The nodes answer no submission until the new primary has a replica again.
      replica = open(await startReplica({ port }));
      await during;
    }
    await scene.judge();
  });
});
