import type { Candidate } from "../domain/execution.ts";
import type { Envelope } from "../ports/bus.ts";
import type { LiveExecution, ToScheduler } from "../ports/messages.ts";
import type { Readings, TakeoverCause } from "../ports/metrics.ts";
import { countEntries } from "../shard/counts.ts";
import { explain } from "../shard/explain.ts";
import { DEFAULT_LIMITS, type Input } from "../shard/inputs.ts";
import { liveExecution } from "../shard/live.ts";
import { takeOwnership } from "./ownership.ts";
import { Payloads } from "./payloads.ts";
import { type RunnerParts, ShardRunner } from "./shard-runner.ts";
import { TallyBook } from "./tally.ts";
import { Watchers } from "./watchers.ts";

export type SchedulerParts = Omit<RunnerParts, "payloads" | "watchers">;

/** The scheduler role of a node: owns shards, and takes them over anew whenever what it knows of them is in doubt. */
export class Scheduler {
  readonly #parts: RunnerParts;
  readonly #unlisten: () => void;
  readonly #tally: TallyBook;
  readonly #failed = Promise.withResolvers<Error>();
  #runner: ShardRunner | null = null;
  #stopped = false;

  constructor(parts: SchedulerParts) {
    const { bus, store, metrics } = parts;
    this.#tally = new TallyBook(parts.runtime);
    this.#parts = {
      ...parts,
      metrics: this.#tally.beside(metrics),
      payloads: new Payloads(store),
      watchers: new Watchers(bus),
    };
    this.#unlisten = bus.listen("scheduler", (messages) => this.#receive(messages));
    metrics.watch(() => this.#readings());
  }

  /** Resolves with the reason when this node cannot own anything any more: another server has the store. */
  get failed(): Promise<Error> {
    return this.#failed.promise;
  }

  /**
   * Resolves when the shards are owned. Losing them later leads to another takeover by itself.
   * @throws {StoreUnusable} another server has the store
   */
  async start(): Promise<void> {
    const { store, bus, runtime, log } = this.#parts;
    const owned = await takeOwnership(store, bus.node, runtime, log, () => !this.#stopped);
    if (owned === null || this.#stopped) return;
    const runner = new ShardRunner(this.#parts, (cause, reason) => this.#lost(cause, reason));
    this.#runner = runner;
    const shards = [...owned.epochs].map(([shard, epoch]) => ({ shard, epoch }));
    bus.announce(shards.map(({ shard }) => shard));
    runner.start(owned, bus.node);
    // Gateways record the epochs before they answer, so nothing of an older owner is delivered after that.
    for (const node of bus.nodes("gateway")) bus.send({ node, role: "gateway" }, { kind: "OWNER", shards });
  }

  /** Owns all its shards, and can serve. */
  get ready(): boolean {
    return this.#runner !== null;
  }

  /** Commits what has come in, then lets go. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#runner?.settled();
    this.#runner?.stop();
    this.#runner = null;
    this.#parts.bus.announce([]);
    this.#unlisten();
  }

  #readings(): Readings {
    const state = this.#runner?.state;
    const none = new Map<string, number>();
    if (state === undefined) return { waiting: 0, ready: none, assigned: none, running: none, ownedShards: 0 };
    return { ...countEntries(state), ownedShards: state.epochs.size };
  }

  #lost(cause: TakeoverCause, reason: string): void {
    const { bus, log, metrics } = this.#parts;
    log.warn({ cause, reason }, "the shards are taken over anew");
    metrics.takeover(cause);
    this.#runner = null;
    bus.announce([]);
    if (!this.#stopped) this.start().catch((error: Error) => this.#failed.resolve(error));
  }

  #receive(envelopes: readonly Envelope<ToScheduler>[]): void {
    const inputs: Input[] = [];
    for (const { from, message } of envelopes) this.#take(from, message, inputs);
    if (inputs.length > 0) this.#runner?.take(inputs);
  }

  #take(from: string, message: ToScheduler, inputs: Input[]): void {
    const { watchers, payloads } = this.#parts;
    switch (message.kind) {
      case "HINT":
        payloads.keep(message.rows, this.#parts.runtime.now() + DEFAULT_LIMITS.horizonMs);
        inputs.push({ kind: "HINTED", rows: message.rows.map(({ row }) => row) });
        break;
      case "COMMAND":
        inputs.push({ kind: "COMMANDS", commands: [message.command] });
        break;
      case "ASK":
        this.#answer(from, message.request, message.executionIds);
        break;
      case "ASK_TALLY":
        this.#tell(from, message.request);
        break;
      case "EXPLAIN":
        this.#explain(from, message.request, message.row);
        break;
      case "WATCH":
        watchers.watch(message.executionId, from);
        break;
      case "UNWATCH":
        watchers.unwatch(message.executionId, from);
        break;
      default:
        inputs.push({ kind: "GATEWAY", from, message });
    }
  }

  #tell(node: string, request: string): void {
    const ownedShards = this.#runner?.state.epochs.size ?? 0;
    const tally = { ownedShards, lateness: this.#tally.lateness(), finished: this.#tally.finished() };
    this.#parts.bus.send({ node, role: "api" }, { kind: "TALLY", request, tally });
  }

  /** Silent where nothing is owned: a row alone is better judged by whoever asks. */
  #explain(node: string, request: string, row: Candidate): void {
    if (this.#runner === null) return;
    const reasons = explain(this.#runner.state, row, this.#parts.runtime.now());
    this.#parts.bus.send({ node, role: "api" }, { kind: "EXPLAINED", request, reasons });
  }

  #answer(node: string, request: string, ids: readonly string[]): void {
    const executions: LiveExecution[] = [];
    for (const id of ids) {
      const live = this.#runner === null ? null : liveExecution(this.#runner.state, id);
      if (live !== null) executions.push(live);
    }
    this.#parts.bus.send({ node, role: "api" }, { kind: "LIVE", request, executions });
  }
}
