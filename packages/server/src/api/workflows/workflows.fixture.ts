import assert from "node:assert/strict";
import { Readable } from "node:stream";
import type { LightMyRequestResponse } from "fastify";
import { pino } from "pino";
import { memoryBus } from "../../adapters/memory/memory-bus.ts";
import { StoreStage } from "../../adapters/simulated/store.fixture.ts";
import { systemRuntime } from "../../adapters/system/system-runtime.ts";
import { type ExecutionId, shardOf } from "../../domain/ids.ts";
import { laneHash } from "../../domain/lane.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { Bus } from "../../ports/bus.ts";
import { firstChange, type Scene, shardCommit } from "../../ports/conformance/store-scene.conformance.ts";
import type { Leases } from "../../ports/leases.ts";
import type { RowChange, ShardCommit, Store } from "../../ports/store.ts";
import { about, countingMetrics, documented } from "../api.fixture.ts";
import { createApi } from "../create-api.ts";
import type { Lacking } from "../feature-gate.ts";
import type { HttpApp } from "../http/http-app.ts";

const noLeases: Pick<Leases, "list" | "drain"> = {
  list: async () => [],
  drain: async () => {
    throw new Error("no test drains a node");
  },
};

/** The API on a simulated store, whose shards belong to an owner that the test plays. */
export class WorkflowStage {
  readonly app: HttpApp;
  readonly bus: Bus;
  readonly #scene: Scene;
  /** Lets time pass in the store, and for the owner. */
  readonly passes: (ms: number) => Promise<void>;

  private constructor(app: HttpApp, bus: Bus, scene: Scene, passes: (ms: number) => Promise<void>) {
    this.app = app;
    this.bus = bus;
    this.#scene = scene;
    this.passes = passes;
  }

  static async open(lacking?: Lacking): Promise<WorkflowStage> {
    const stage = new StoreStage();
    const scene = await stage.scene("owner");
    const runtime = { ...systemRuntime(), now: stage.time.now };
    const bus = memoryBus(runtime.uuid());
    const app = await createApi({
      ...{ store: scene.store, bus, runtime, about, lacking, leases: noLeases },
      ...{ log: pino({ level: "silent" }), metrics: countingMetrics([]), config: { apiKey: null } },
      clock: { look: async () => undefined },
    });
    return new WorkflowStage(app, bus, scene, (ms) => stage.time.pass(ms));
  }

  close(): Promise<void> {
    return this.app.close();
  }

  get store(): Store {
    return this.#scene.store;
  }

  /** Sends a workflow, or its JSON text, in pieces if it is large as a network does. */
  submit(workflow: unknown, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    const text = typeof workflow === "string" ? workflow : JSON.stringify(workflow);
    const payload = text.length > 65_536 ? Readable.from(piecesOf(Buffer.from(text))) : text;
    const whole = { "content-type": "application/json", ...headers };
    return documented(this.app, { method: "POST", url: "/v1/workflows", headers: whole, payload });
  }

  async submitted(workflow: unknown): Promise<{ workflowId: string; jobId: string }> {
    const answer = await this.submit(workflow);
    assert.equal(answer.statusCode, 201, answer.body);
    return answer.json();
  }

  get(url: string, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return documented(this.app, { method: "GET", url, headers });
  }

  post(url: string, payload?: object, headers: Record<string, string> = {}): Promise<LightMyRequestResponse> {
    return documented(this.app, { method: "POST", url, headers, ...(payload && { payload }) });
  }

  async read(url: string) {
    const answer = await this.get(url);
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json();
  }

  /** Plays the owner of a run that commits the end of a node. */
  async ends(run: ExecutionId, node: number, change: Partial<RowChange> = {}): Promise<void> {
    const now = this.#scene.runtime.now();
    const row = { id: nodeExecutionId(run, node, null, 0), rank: now, dueAt: now };
    const attempt = { attempt: 1, workerId: "w1", startedAt: now, finishedAt: now, error: null };
    const ended = { ...attempt, state: "SUCCEEDED" as const };
    const usual = { state: "SUCCEEDED" as const, attempt: 1, queue: "NONE" as const, startedAt: now, finishedAt: now };
    await this.commit(run, { changes: [firstChange(row, { ...usual, ended: [ended], ...change })] });
  }

  /** Plays the owner of a run that creates the execution of a node. */
  async bears(run: ExecutionId, node: number, handler: string): Promise<void> {
    const [row] = await this.store.load([run]);
    assert.ok(row);
    const id = nodeExecutionId(run, node, null, 0);
    const now = this.#scene.runtime.now();
    const own = {
      id,
      jobId: run,
      node,
      handler,
      state: "PENDING",
      queue: "READY",
      dueAt: now,
      startedAt: null,
    } as const;
    const born = { ...row, ...own };
    await this.commit(run, { births: [{ row: born, laneHash: laneHash(born), createdAt: now, after: [] }] });
  }

  /** Plays the owner of a run that opens it, without its nodes. */
  async runOpens(run: ExecutionId): Promise<void> {
    const [row] = await this.store.load([run]);
    assert.ok(row);
    const startedAt = this.#scene.runtime.now();
    const dueAt = startedAt + row.policy.timeoutMs;
    const open = { state: "RUNNING", queue: "OPEN", startedAt } as const;
    await this.commit(run, { changes: [firstChange({ id: run, rank: row.rank, dueAt }, open)] });
  }

  /** Plays the owner of a run that ends it. */
  async runEnds(run: ExecutionId, change: Partial<RowChange> = {}): Promise<void> {
    const [row] = await this.store.load([run]);
    assert.ok(row);
    const now = this.#scene.runtime.now();
    const end = {
      wasState: "RUNNING",
      state: "SUCCEEDED",
      queue: "NONE",
      finishedAt: now,
      startedAt: row.startedAt,
    } as const;
    await this.commit(run, {
      changes: [firstChange({ id: run, rank: row.rank, dueAt: row.dueAt }, { ...end, ...change })],
    });
    this.bus.send(
      { node: this.bus.node, role: "api" },
      { kind: "FINAL", executionId: run, state: change.state ?? "SUCCEEDED" },
    );
  }

  async commit(run: ExecutionId, parts: Partial<ShardCommit>): Promise<void> {
    const [row] = await this.store.load([run]);
    const shard = row?.shard ?? shardOf(run);
    const [outcome] = await this.store.commit([shardCommit(shard, this.#scene.epochOf(shard), parts)]);
    assert.deepEqual([outcome?.status, outcome?.missed, outcome?.notBorn], ["APPLIED", [], []]);
  }
}

function piecesOf(bytes: Buffer): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 65_536) pieces.push(bytes.subarray(at, at + 65_536));
  return pieces;
}
