import type { Logger } from "pino";
import type { EpochMs, ShardId } from "../domain/ids.ts";
import { bury } from "../engine/attempts/bury.ts";
import { Batch, type Moved } from "../engine/batch.ts";
import { DEFAULT_LIMITS, type Input, type ReadMark } from "../engine/inputs.ts";
import { sealBatch, step } from "../engine/machine.ts";
import type { PermitLetter } from "../engine/permits/permits.ts";
import { createState, type MachineState } from "../engine/state.ts";
import type { Bus } from "../ports/bus.ts";
import type { Demand } from "../ports/messages.ts";
import type { Metrics, TakeoverCause } from "../ports/metrics.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { ShardOutcome, Store } from "../ports/store.ts";
import type { TimeZoneRules } from "../ports/time-zone-rules.ts";
import { Departures } from "./departures.ts";
import type { Owned } from "./ownership/holdings.ts";
import { Hydrator } from "./reading/hydrator.ts";
import type { Payloads } from "./reading/payloads.ts";
import type { PoolReader } from "./reading/pool-reader.ts";
import { judge, shardCommits, type Verdict } from "./shard-commit.ts";
import type { Watchers } from "./watchers.ts";
import { countBatch } from "./watches/figures.ts";

export interface RunnerParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  metrics: Metrics;
  payloads: Payloads;
  watchers: Watchers;
  pools: PoolReader;
  /** The time zone data that this node goes by. */
  zones: TimeZoneRules;
}

/** Notices of the runner to the scheduler. */
export interface RunnerEvents {
  /** The machine may no longer be believed. Called once; nothing more is committed or sent. */
  lost(cause: TakeoverCause, reason: string): void;
  /** Others own these shards; the machine has forgotten them. */
  fenced(shards: readonly ShardId[]): void;
  /** Pools whose work waits for credit. */
  demand(demand: readonly Demand[]): void;
  /** Whether this node may still believe that it is the owner. */
  trusted(): boolean;
}

/**
 * One life of the machine: drains inputs, steps the machine, commits, and only then lets the
 * messages go that depend on the commit. While a commit is in flight the next batch fills: that is the group commit.
 */
export class ShardRunner {
  readonly state: MachineState;
  readonly #parts: RunnerParts;
  readonly #hydrator: Hydrator;
  readonly #departures: Departures;
  readonly #events: RunnerEvents;
  readonly #reads = new Map<number, number>();
  #batch = new Batch(1);
  #flying: Batch | null = null;
  #landed: (() => void)[] = [];
  readonly #leaving: { shards: readonly ShardId[]; done(isDone: boolean): void }[] = [];
  #wake: Timer | null = null;
  #over = false;

  constructor(parts: RunnerParts, events: RunnerEvents) {
    this.#parts = parts;
    this.#events = events;
    this.state = createState(DEFAULT_LIMITS);
    this.#departures = new Departures({ ...parts, state: this.state });
    this.#hydrator = new Hydrator(parts.store, parts.runtime, parts.log, {
      take: (input) => this.take([input]),
      shards: () => [...this.state.epochs.keys()],
      readBegins: () => this.#readBegins(),
      readEnds: (mark) => this.#readEnds(mark),
      size: () => this.state.entries.size,
      commands: () => this.state.openCommands,
      plans: () => this.state.plans.byId.size,
      pools: parts.pools,
      tzdata: () => (parts.zones.changeovers().length === 0 ? null : parts.zones.inForce().tag),
    });
  }

  /** More shards are owned from now on. */
  own(owned: Owned): void {
    const { term, epochs, recovered, seen, gateways } = owned;
    const incarnation = this.#parts.bus.node;
    const isFirst = this.state.epochs.size === 0;
    this.take([
      { kind: "CHANGEOVERS", changeovers: this.#parts.zones.changeovers() },
      { kind: "POOLS", pools: this.#parts.pools.known },
      { kind: "EPOCHS_SEEN", epochs: seen },
      // The list of living gateways comes first: workers of a living gateway may live too.
      { kind: "GATEWAYS", nodes: gateways },
      { kind: "OWNED", term, epochs, recovered, incarnation },
    ]);
    if (isFirst) this.#hydrator.start();
    else this.#hydrator.hurry();
  }

  /** Forgets shards once what is on its way to the store for them has arrived. @returns false: the machine is gone */
  letGo(shards: readonly ShardId[]): Promise<boolean> {
    return new Promise((resolve) => {
      this.#leaving.push({ shards, done: resolve });
      if (this.#flying !== null) return;
      this.take([{ kind: "LOST", shards }]);
      this.#left(!this.#over);
    });
  }

  #left(isDone: boolean): void {
    for (const { done } of this.#leaving.splice(0)) done(isDone);
  }

  take(inputs: readonly Input[]): void {
    if (!this.#over) this.#flush(this.#step(inputs));
  }

  /** @returns whether the batch had no room for all that there is to do */
  #step(inputs: readonly Input[]): boolean {
    try {
      const result = step(this.state, this.#batch, inputs, this.#parts.runtime.now());
      for (const want of result.wants) this.#hydrator.read(want);
      this.#wakeAt(result.wakeAt);
      if (result.demand !== null) this.#events.demand(result.demand);
      for (const letter of result.permits) this.#post(letter);
      return result.more;
    } catch (error) {
      this.#parts.log.error({ err: error }, "the machine failed");
      this.#giveUp("MACHINE_FAILED", "the machine failed");
      return false;
    }
  }

  /** Changeovers of time zone data have become known, or one has come into force. */
  followChangeovers(): void {
    this.take([{ kind: "CHANGEOVERS", changeovers: this.#parts.zones.changeovers() }]);
    if (!this.#over) this.#hydrator.lookForOtherZones();
  }

  /** Commands for plans were given. */
  lookForCommands(): void {
    this.#hydrator.lookForCommands();
  }

  /** Ends this ownership; nothing more is committed or sent. */
  stop(): void {
    this.#over = true;
    this.#wake?.cancel();
    this.#hydrator.stop();
    this.#departures.stop();
    this.#left(false);
    this.#land();
  }

  /** Resolves when everything that was taken so far is committed and sent. @returns false: the ownership is over */
  async settled(): Promise<boolean> {
    const next = this.#batch.hasWrites ? this.#batch.number + 1 : this.#batch.number;
    while (!this.#over && (this.#flying ?? this.#batch).number < next) {
      await new Promise<void>((resolve) => this.#landed.push(resolve));
    }
    return !this.#over;
  }

  #wakeAt(at: number | null): void {
    this.#wake?.cancel();
    if (at === null) return;
    const delayMs = Math.max(0, at - this.#parts.runtime.now());
    this.#wake = this.#parts.runtime.setTimer(delayMs, () => this.take([]));
  }

  /** @param more whether the last step left something to do for the next one */
  #flush(more: boolean): void {
    if (this.#over) return;
    if (this.#flying === null) this.#depart(this.#batch);
    // The next batch takes what this one had no room for, while this one is on its way.
    if (more && !this.#batch.hasWrites) this.#wakeAt(this.#parts.runtime.now());
  }

  #depart(batch: Batch): void {
    if (batch.hasWrites) {
      this.#flying = batch;
      this.#batch = sealBatch(batch);
      void this.#commit(batch);
    } else if (batch.hasMail) {
      this.#batch = sealBatch(batch);
      this.#release(batch, []);
    }
  }

  async #commit(batch: Batch): Promise<void> {
    const { store, runtime, log, metrics } = this.#parts;
    const beganMs = runtime.monotonicMs();
    let outcomes: ShardOutcome[];
    try {
      outcomes = await store.commit(shardCommits(batch, this.state.epochs));
    } catch (error) {
      if (this.#over) return;
      metrics.storeOutage();
      log.warn({ err: error }, "the store did not answer a commit");
      return this.#giveUp("COMMIT_UNANSWERED", "a commit was not answered");
    }
    if (this.#over) return;
    const durationMs = runtime.monotonicMs() - beganMs;
    metrics.commit({ durationMs, changes: batch.changeCount, assigned: batch.assigns.length });
    this.#answered(batch, judge(batch, outcomes));
  }

  /**
   * One step takes all that follows from the answer; the batch is released after it, and only then the next one may
   * depart.
   */
  #answered(batch: Batch, verdict: Verdict): void {
    if (verdict.kind === "DROP") return this.#giveUp(verdict.cause, verdict.reason);
    if (!this.#events.trusted()) return this.#giveUp("LEASE_ENDED", "a commit took longer than the lease");
    this.#flying = null;
    const { born, fenced, missed, refused } = verdict;
    batch.drop(new Set(fenced));
    bury(this.state, batch, this.#batch, refused);
    const more = this.#step([
      { kind: "BORN", ...born },
      { kind: "LOST", shards: [...fenced, ...this.#leaving.flatMap(({ shards }) => shards)] },
      { kind: "CANDIDATES_MISSED", ids: missed },
      { kind: "FREED", freed: batch.freed },
    ]);
    if (this.#over) return;
    this.#release(batch, missed);
    this.#pruneTouched();
    this.#flush(more);
    this.#left(true);
    if (fenced.length > 0) this.#events.fenced(fenced);
    this.#land();
  }

  /** The batch is durable: what depends on it may leave. */
  #release(batch: Batch, missed: readonly string[]): void {
    const { bus, watchers, metrics, log } = this.#parts;
    countBatch(metrics, batch);
    for (const moved of batch.moved) log.info(legible(moved), "the scheduler moved the next fire of a job");
    const skip = new Set(missed);
    for (const [node, workers] of batch.acks) {
      for (const [workerId, tokens] of workers) bus.send({ node, role: "gateway" }, { kind: "ACK", workerId, tokens });
    }
    for (const { node, message } of batch.toGateway) bus.send({ node, role: "gateway" }, message);
    for (const node of bus.nodes("api")) {
      for (const { message } of batch.toApi) bus.send({ node, role: "api" }, message);
    }
    for (const draft of batch.shards.values()) {
      for (const change of draft.changes.values()) if (!skip.has(change.id)) watchers.committed(change);
    }
    void this.#departures.send(batch.assigns);
    this.#departures.resend(batch.resends);
  }

  #post(letter: PermitLetter): void {
    const { bus } = this.#parts;
    // The node knows its own shards before it has told other nodes.
    const ownerOf = (shard: ShardId) => (this.state.epochs.has(shard) ? bus.node : bus.ownerOf(shard));
    const node = "toNode" in letter ? letter.toNode : ownerOf(letter.toOwnerOf);
    if (node !== null) bus.send({ node, role: "scheduler" }, letter.message);
  }

  #giveUp(cause: TakeoverCause, reason: string): void {
    if (this.#over) return;
    this.stop();
    this.#events.lost(cause, reason);
  }

  #land(): void {
    const waiting = this.#landed;
    this.#landed = [];
    for (const resolve of waiting) resolve();
  }

  #readBegins(): ReadMark {
    const since = (this.#flying ?? this.#batch).number;
    this.#reads.set(since, (this.#reads.get(since) ?? 0) + 1);
    return { since, term: this.state.term };
  }

  #readEnds({ since }: ReadMark): void {
    const count = (this.#reads.get(since) ?? 1) - 1;
    if (count > 0) this.#reads.set(since, count);
    else this.#reads.delete(since);
  }

  #pruneTouched(): void {
    this.state.touched.prune(Math.min((this.#flying ?? this.#batch).number, ...this.#reads.keys()));
  }
}

function legible({ from, to, ...moved }: Moved): object {
  const instant = (at: EpochMs | null) => (at === null ? null : new Date(at).toISOString());
  return { ...moved, from: instant(from), to: instant(to) };
}
