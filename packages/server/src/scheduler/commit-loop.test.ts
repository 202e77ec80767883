import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { SHARD_COUNT } from "../domain/ids.ts";
import { candidate } from "../engine/testing/story.ts";
import { ManualRuntime, settled } from "../ports/manual-runtime.fixture.ts";
import type { FromGateway, ToGateway } from "../ports/messages.ts";
import type { ShardCommit, ShardOutcome } from "../ports/store.ts";
import { CommitLoop, type CommitLoopDependencies } from "./commit-loop.ts";
import { PoolReader } from "./reading/pool-reader.ts";

const GATEWAY = "gateway-1";
const SLOTS = 5;

/** A commit loop that owns all shards and has a worker, on a store that answers commits when the test says so. */
class Scene {
  /** Output in order: commits with their assignments, assignments sent, results acknowledged. */
  readonly left: string[] = [];
  readonly #commits: { shards: ShardCommit[]; answer(outcomes: ShardOutcome[]): void }[] = [];
  /** Number of executions that were counted as finished. */
  finished = 0;
  readonly runtime = new ManualRuntime();
  readonly runner: CommitLoop;

  constructor() {
    const nothing = { payloads: { attach: () => null }, watchers: { committed: () => undefined } };
    const counted = { finished: (_state: string, count: number) => (this.finished += count) };
    const metrics = new Proxy(counted, { get: (known, name) => Reflect.get(known, name) ?? (() => undefined) });
    const store = { commit: (shards: ShardCommit[]) => this.#commit(shards), poll: () => new Promise(() => {}) };
    const recurrences = { readAwaiting: async () => [], readOtherZones: async () => [] };
    const bus = { node: "node-1", nodes: () => [], send: (_to: unknown, message: ToGateway) => this.#sent(message) };
    const pools = new PoolReader({ readPools: async () => [] }, () => undefined);
    const rest = {
      log: pino({ level: "silent" }),
      zones: { changeovers: () => [] },
      pools,
      runtime: this.runtime,
    };
    const parts = {
      ...nothing,
      ...rest,
      metrics,
      bus,
      store: { ...store, recurrences },
    } as unknown as CommitLoopDependencies;
    const events = {
      lost: () => undefined,
      fenced: (shards: readonly number[]) => this.left.push(`fenced ${shards.join()}`),
    };
    this.runner = new CommitLoop(parts, { ...events, demand: () => undefined, trusted: () => true });
    const epochs = new Map(Array.from({ length: SHARD_COUNT }, (_, shard) => [shard, 1]));
    const recovered = { inFlight: [], journals: [], commands: [] };
    this.runner.own({ term: 1, epochs, recovered, seen: epochs, gateways: [GATEWAY] });
    const profile = { name: "w", pool: "default", handlers: ["echo"], capabilities: [], slots: SLOTS, prefetch: 0 };
    this.#hear({
      kind: "WORKER_UP",
      term: 1,
      worker: { workerId: "w", ...profile },
      connection: 1,
      account: 1,
      holds: [],
    });
    const credit = { workerId: "w", account: 1, granted: SLOTS, highest: 0, missing: [] };
    this.#hear({ kind: "CREDITS", term: 1, roll: false, credits: [credit] });
    this.left.splice(0);
  }

  /** Submits a job. @returns its execution */
  submit(id: string, shard: number) {
    const row = candidate({ id, shard, dueAt: 0, scheduledAt: this.runtime.now() });
    this.runner.take([{ kind: "HINTED", rows: [row] }]);
    return row;
  }

  /** Reports that the first attempt of an execution has succeeded. */
  finish(executionId: string, shard: number): void {
    const [at, outcome] = [this.runtime.now(), { result: null, error: null, advice: null }];
    const token = { shard, executionId, attempt: 1, workerId: "w" };
    const finished = { ...token, ...outcome, state: "SUCCEEDED", startedAt: at, finishedAt: at } as const;
    this.#hear({ kind: "FINISHED", results: [finished] });
  }

  /** Answers the oldest commit. */
  async answer(outcome: (commit: ShardCommit) => Partial<ShardOutcome> = () => ({})): Promise<void> {
    const commit = this.#commits.shift();
    assert.ok(commit);
    const usual = {
      status: "APPLIED",
      missed: [],
      missedPlans: [],
      notCreated: [],
      missedRuns: [],
      notBorn: [],
      refused: [],
    } as const;
    commit.answer(commit.shards.map((one) => ({ shard: one.shard, ...usual, ...outcome(one) }) as ShardOutcome));
    await settled();
  }

  #commit(shards: ShardCommit[]): Promise<ShardOutcome[]> {
    this.left.push(`commit ${shards.flatMap(({ assigned }) => assigned.map(({ id }) => id)).join()}`);
    return new Promise((resolve) => void this.#commits.push({ shards, answer: resolve }));
  }

  #hear(message: FromGateway): void {
    this.runner.take([{ kind: "GATEWAY", from: GATEWAY, message }]);
  }

  #sent(message: ToGateway): void {
    if (message.kind === "ASSIGN") {
      this.left.push(`assign ${message.assigns.map(({ executionId }) => executionId).join()}`);
    }
    if (message.kind === "VOID") this.left.push(`void ${message.credits.join()}`);
  }
}

describe("the loop of commits", () => {
  it("sends what a commit has made durable before the next commit departs, also where shards leave meanwhile", async () => {
    const scene = new Scene();
    scene.submit("a", 1);
    scene.submit("b", 2);
    const gone = scene.runner.releaseShards([5]);
    await scene.answer();
    assert.deepEqual(scene.left, ["commit a", "assign a", "commit b"]);
    assert.equal(await gone, true);
    assert.ok(!scene.runner.state.epochs.has(5));
  });

  it("takes a stale hint, a fenced shard and what is durable from one answer", async () => {
    const scene = new Scene();
    for (const [i, id] of ["a", "b", "c"].entries()) scene.submit(id, i + 1);
    await scene.answer();
    scene.submit("d", 4);
    assert.deepEqual(scene.left.splice(0), ["commit a", "assign a", "commit b,c"]);
    const stale = ({ assigned }: ShardCommit) => ({ missed: assigned.map(({ id }) => id) });
    await scene.answer((commit) => (commit.shard === 2 ? stale(commit) : { status: "FENCED" }));
    assert.deepEqual(scene.left, ["void 2", "commit d", "fenced 3"]);
    assert.deepEqual([...scene.runner.state.entries.keys()], ["a", "d"]);
    await scene.answer();
    assert.equal(scene.left.at(-1), "assign d");
  });

  it("says that what was taken is settled when its own commit is through, whatever comes after", async () => {
    const scene = new Scene();
    scene.submit("a", 1);
    scene.submit("b", 2);
    let isSettled = false;
    const waiting = scene.runner.settled().then((isDone) => (isSettled = isDone));
    scene.submit("c", 3);
    await scene.answer();
    scene.submit("d", 4);
    assert.equal(isSettled, false, "b is on its way");
    await scene.answer();
    assert.equal(await waiting, true);
    assert.equal(scene.left.at(-1), "commit d");
  });

  it("says that nothing will be settled when the ownership ends before", async () => {
    const scene = new Scene();
    scene.submit("a", 1);
    const waiting = scene.runner.settled();
    scene.runner.stop();
    assert.equal(await waiting, false);
    await scene.answer();
    assert.deepEqual(scene.left, ["commit a"]);
  });

  it("counts a batch that the store has applied, whether or not the ownership has ended meanwhile", async () => {
    const scene = new Scene();
    scene.submit("a", 1);
    scene.submit("b", 2);
    await scene.answer();
    scene.finish("a", 1);
    await scene.answer();
    scene.finish("b", 2);
    await scene.answer();
    assert.equal(scene.finished, 1, "a");
    scene.runner.stop();
    await scene.answer();
    assert.equal(scene.finished, 2);
  });

  it("does not count a shard of which the store wrote nothing", async () => {
    const scene = new Scene();
    scene.submit("a", 1);
    await scene.answer();
    scene.finish("a", 1);
    scene.runner.stop();
    await scene.answer(() => ({ status: "FENCED" }));
    assert.equal(scene.finished, 0);
  });
});
