import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { Candidate } from "../domain/execution.ts";
import { attemptKey } from "../domain/ids.ts";
import type { Assignment, FinishedAttempt } from "../ports/messages.ts";
import type { Command } from "../ports/store-commands.ts";
import type { Limits } from "./inputs.ts";
import { isStillWanted } from "./queue/sendable.ts";
import { ModelStore } from "./testing/model-store.ts";
import { candidate, GATEWAY, ordersOf, Story } from "./testing/story.ts";

/** One gateway, some workers and a store, all of which do what the test says, in any order. */
class World {
  readonly story: Story;
  readonly store = new ModelStore();
  /** Attempts that workers hold, by token. */
  readonly held = new Map<string, Assignment>();
  readonly alive = new Map<string, number>();
  readonly said: { assign: Assignment; news: Partial<FinishedAttempt> }[] = [];
  readonly hints: Candidate[] = [];
  #named = 0;

  constructor(limits: Partial<Limits>) {
    this.story = new Story({ laneEntries: 8, ...limits });
  }

  submit(key: string | null, delayMs: number, hinted: boolean, pool = "default"): void {
    const id = `e${String(++this.#named).padStart(5, "0")}`;
    const row = candidate({
      id,
      pool,
      concurrencyKey: key,
      concurrencyLimit: 2,
      dueAt: this.story.now + delayMs,
      priority: this.#named % 10,
    });
    row.queue = delayMs > 0 ? "WAITING" : "READY";
    this.store.insert(row);
    this.hints.push({ ...row });
    if (hinted) this.story.hint({ ...row });
  }

  /** Delivers the hint of a submit again, however late. */
  hintAgain(pick: number): void {
    const hint = this.hints[pick % Math.max(1, this.hints.length)];
    if (hint !== undefined) this.story.hint({ ...hint });
  }

  /** Submits many executions of one pool that are due at one instant. */
  herd(count: number): void {
    for (let i = 0; i < count; i++) this.submit(null, 4_000, i % 2 === 0, POOLS[count % 2]);
  }

  join(slots: number): void {
    const name = `w${++this.#named}`;
    this.alive.set(name, slots);
    this.story.worker(name, { slots, pool: POOLS[this.#named % 2] as string });
  }

  lose(pick: number): void {
    const name = [...this.alive.keys()][pick % Math.max(1, this.alive.size)];
    if (name === undefined) return;
    this.alive.delete(name);
    for (const [token, assign] of this.held) if (assign.workerId === name) this.held.delete(token);
    this.story.lose(name);
  }

  /** Moves the clock, and repeats the gateway's credits, because a silent gateway's workers get no work. */
  later(ms: number): void {
    this.story.later(ms).tell({ kind: "GATEWAYS", nodes: [GATEWAY] });
    for (const name of this.alive.keys()) this.story.credit(name, 0);
  }

  /** Commits the batch, gives the answer to the machine, and delivers the messages that depend on it. */
  commit(): void {
    const { batch } = this.story;
    const missed = this.store.apply(batch);
    this.story.commit();
    this.story.tell({ kind: "CANDIDATES_MISSED", ids: missed });
    const unsent = batch.assigns.filter((assign) => !isStillWanted(this.story.state, assign));
    for (const { workerId } of unsent) this.story.credit(workerId, 1);
    for (const assign of batch.assigns) {
      if (unsent.includes(assign) || !this.alive.has(assign.workerId)) continue;
      this.held.set(attemptKey(assign.executionId, assign.attempt), assign);
    }
    for (const order of ordersOf(batch)) {
      if (order.kind === "REFUSED") for (const t of order.tokens) this.free(attemptKey(t.executionId, t.attempt));
      if (order.kind === "VOID") this.story.credit(order.workerId, order.credits.length);
    }
    this.check();
  }

  /** Frees the slot of a worker whose attempt was refused. */
  free(token: string): void {
    const assign = this.held.get(token);
    if (assign === undefined) return;
    this.held.delete(token);
    this.story.credit(assign.workerId, 1);
  }

  finish(pick: number, news: Partial<FinishedAttempt>): void {
    const [token, assign] = [...this.held][pick % Math.max(1, this.held.size)] ?? [];
    if (token === undefined || assign === undefined) return;
    this.held.delete(token);
    this.said.push({ assign, news });
    this.story.finish(assign, news);
  }

  start(pick: number): void {
    const assign = [...this.held.values()][pick % Math.max(1, this.held.size)];
    if (assign !== undefined) this.story.started(assign);
  }

  /** Delivers an old report again. */
  repeat(pick: number): void {
    const old = this.said[pick % Math.max(1, this.said.length)];
    if (old === undefined) return;
    this.story.credit(old.assign.workerId, -1).finish(old.assign, old.news);
  }

  /** Cancels an execution, or sends it a signal. */
  command(kind: "CANCEL" | "SIGNAL", pick: number): void {
    const id = [...this.store.rows.keys()][pick % Math.max(1, this.store.rows.size)];
    if (id === undefined) return;
    const { shard } = this.store.rows.get(id)?.row ?? { shard: 0 };
    this.story.tell({ kind: "COMMANDS", commands: [{ id: `c${++this.#named}`, shard, kind, executionId: id }] });
  }

  /** Ends an attempt that sleeps or waits for signals. */
  suspend(pick: number): void {
    const signals = pick % 2 === 0 ? [] : ["go"];
    this.finish(pick, { state: "SUSPENDED", waits: [{ name: "s", delayMs: pick * 500, signals, isRecorded: false }] });
  }

  /** Deletes the job of an execution, or gives it a new version with other requirements and another due time. */
  changeJob(pick: number): void {
    const id = [...this.store.rows.keys()][pick % Math.max(1, this.store.rows.size)];
    const row = id === undefined ? undefined : this.store.rows.get(id)?.row;
    if (id === undefined || row === undefined) return;
    const about = { id: `c${++this.#named}`, shard: row.shard, jobId: row.jobId, executionIds: [id] };
    const version = this.#named;
    const { pool, handler, requires, policy, concurrencyKey } = row;
    const scheduledAt = this.story.now + (pick % 3) * 20_000;
    const definition = {
      name: null,
      uniqueKey: null,
      labels: {},
      recurrence: null,
      concurrencyLimit: 2,
      priority: pick % 10,
      scheduledAt,
    };
    const replace = { kind: "REPLACE", version, payloadBytes: 0 } as const;
    const command: Command =
      pick % 5 === 0
        ? { ...about, kind: "DELETE" }
        : { ...about, ...replace, definition: { ...definition, pool, handler, requires, policy, concurrencyKey } };
    this.story.tell({ kind: "COMMANDS", commands: [command] });
  }

  /** Answers every read with the present rows of the store. */
  read(): void {
    const since = this.story.batch.number;
    const rows = this.store.open().map((id) => ({ id, ...this.store.rows.get(id) }));
    const copies = rows.map(
      (row) => ({ ...(row.row as ReturnType<typeof candidate>), state: row.state, attempt: row.attempt }) as never,
    );
    const pending = copies.filter((row: { state: string }) => row.state === "PENDING");
    for (const want of this.story.wants.splice(0)) {
      if (want.kind === "LOAD") {
        const asked = copies.filter((row: { id: string }) => want.ids.includes(row.id));
        this.story.tell({ kind: "LOADED", asked: want.ids, rows: asked, since, term: 1 });
      } else if (want.kind === "READY") {
        const { laneHash, after, limit } = want;
        const ready = this.store.ready(laneHash, after, limit);
        this.story.tell({
          kind: "READ_READY",
          laneHash,
          after,
          rows: ready,
          full: ready.length >= limit,
          since,
          term: 1,
        });
      }
    }
    this.story.tell({ kind: "READ_WAITING", rows: pending, since, term: 1 });
  }

  check(): void {
    const byWorker = new Map<string, number>();
    const byKey = new Map<string, number>();
    const executions = new Set<string>();
    for (const { workerId, executionId } of this.held.values()) {
      byWorker.set(workerId, (byWorker.get(workerId) ?? 0) + 1);
      const key = this.store.rows.get(executionId)?.row.concurrencyKey;
      if (key) byKey.set(key, (byKey.get(key) ?? 0) + 1);
      assert.ok(!executions.has(executionId), `${executionId} is held twice`);
      executions.add(executionId);
    }
    for (const [name, count] of byWorker) assert.ok(count <= (this.alive.get(name) ?? 0), `${name} holds ${count}`);
    for (const [key, count] of byKey) assert.ok(count <= 2, `${count} of key ${key} run`);
  }

  /** Ends all faults; everything must become final then. */
  drain(): void {
    for (let i = 0; i < POOLS.length; i++) this.join(4);
    for (let round = 0; this.store.open().length > 0; round++) {
      assert.ok(round < 2_000, `never final: ${this.store.open().join(" ")}`);
      this.later(60_000);
      this.commit();
      this.read();
      this.commit();
      while (this.held.size > 0) this.finish(0, {});
      this.commit();
    }
    // Lanes learn by a read that the store has no further rows.
    for (let round = 0; round < 3; round++) this.read();
    assert.equal(this.story.state.entries.size, 0);
    assert.equal(this.story.state.waiting.size, 0);
    assert.equal(this.story.state.gates.size, 0);
    assert.equal(this.story.state.lanes.pools, 0);
    assert.deepEqual([...this.story.state.openCommands], [], "a command was never done");
  }
}

const POOLS = ["default", "other"];

const moves = fc.oneof(
  fc.record({ kind: fc.constant("herd"), n: fc.integer({ min: 10, max: 40 }) }),
  fc.record({
    kind: fc.constant("submit"),
    key: fc.constantFrom(null, null, "a", "b"),
    n: fc.constantFrom(0, 0, 500, 4_000, 60_000),
  }),
  fc.record({
    kind: fc.constantFrom(
      "commit",
      "commit",
      "read",
      "lose",
      "join",
      "start",
      "repeat",
      "cancel",
      "signal",
      "suspend",
      "changeJob",
      "hintAgain",
    ),
    n: fc.nat(50),
  }),
  fc.record({
    kind: fc.constant("finish"),
    n: fc.nat(50),
    state: fc.constantFrom("SUCCEEDED", "FAILED", "RELEASED", "TIMED_OUT"),
  }),
  fc.record({ kind: fc.constant("later"), n: fc.constantFrom(1, 400, 1_000, 4_000, 30_000, 4_000_000) }),
);

it("whatever happens in whatever order: no attempt twice, no limit exceeded, no miss of a row it was sure of, all final", () => {
  holds({});
});

it("the same where batches are soon full, and flows wait for the next", () => {
  holds({ batchAssigns: 6, batchOverflows: 3 });
});

function holds(limits: Partial<Limits>): void {
  fc.assert(
    fc.property(fc.array(moves, { minLength: 20, maxLength: 150 }), (list) => {
      const world = new World(limits);
      for (const move of list as { kind: string; n: number; key?: string | null; state?: FinishedAttempt["state"] }[]) {
        if (move.kind === "submit") world.submit(move.key ?? null, move.n, move.n % 3 !== 1);
        else if (move.kind === "herd") world.herd(move.n);
        else if (move.kind === "commit") world.commit();
        else if (move.kind === "read") world.read();
        else if (move.kind === "lose") world.lose(move.n);
        else if (move.kind === "join") world.join(1 + (move.n % 4));
        else if (move.kind === "start") world.start(move.n);
        else if (move.kind === "repeat") world.repeat(move.n);
        else if (move.kind === "cancel") world.command("CANCEL", move.n);
        else if (move.kind === "signal") world.command("SIGNAL", move.n);
        else if (move.kind === "suspend") world.suspend(move.n);
        else if (move.kind === "hintAgain") world.hintAgain(move.n);
        else if (move.kind === "changeJob") world.changeJob(move.n);
        else if (move.kind === "finish") world.finish(move.n, { state: move.state ?? "SUCCEEDED" });
        else world.later(move.n);
      }
      world.drain();
    }),
    { numRuns: 150 },
  );
}
