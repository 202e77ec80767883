import type { Logger } from "pino";
import type { ShardId } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Assignment, Demand } from "../ports/messages.ts";
import type { Metrics, TakeoverCause } from "../ports/metrics.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { ShardOutcome, Store } from "../ports/store.ts";
import type { TimeZoneRules } from "../ports/time-zone-rules.ts";
import { Batch } from "../shard/batch.ts";
import { bury } from "../shard/bury.ts";
import { DEFAULT_LIMITS, type Input, type ReadMark } from "../shard/inputs.ts";
import { sealBatch, step } from "../shard/machine.ts";
import type { Patience } from "../shard/patience.ts";
import type { PermitLetter } from "../shard/permits/permits.ts";
import { createState, type MachineState } from "../shard/state.ts";
import { isStillWanted, sendableAt } from "../shard/unsent.ts";
import { Departures } from "./departures.ts";
import { countBatch } from "./figures.ts";
import type { Owned } from "./holdings.ts";
import { Hydrator } from "./hydrator.ts";
import type { Payloads } from "./payloads.ts";
import { isAnyBorn, judge, shardCommits, type Verdict } from "./shard-commit.ts";
import type { Watchers } from "./watchers.ts";

export interface RunnerParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  metrics: Metrics;
  payloads: Payloads;
  watchers: Watchers;
  patience: Patience;
  /** The time zone data that this node goes by. */
  zones: TimeZoneRules;
}

/** What the runner tells the scheduler. */
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
    this.state = createState(DEFAULT_LIMITS, parts.patience);
    this.#departures = new Departures({
      payloads: parts.payloads,
      runtime: parts.runtime,
      log: parts.log,
      isOver: () => this.#over,
      stillWanted: (assigns) => this.#stillWanted(assigns),
      sendableAt: (assign) => sendableAt(this.state, assign),
      send: (assigns) => this.#send(assigns),
    });
    this.#hydrator = new Hydrator(parts.store, parts.runtime, parts.log, {
      take: (input) => this.take([input]),
      shards: () => [...this.state.epochs.keys()],
      readBegins: () => this.#readBegins(),
      readEnds: (mark) => this.#readEnds(mark),
      size: () => this.state.entries.size,
      plans: () => this.state.plans.byId.size,
      tzdata: () => (parts.zones.changeovers().length === 0 ? null : parts.zones.inForce().tag),
    });
  }

  /** More shards are owned from now on. */
  own(owned: Owned): void {
    const { term, epochs, recovered, pools, seen, gateways } = owned;
    const incarnation = this.#parts.bus.node;
    const isFirst = this.state.epochs.size === 0;
    this.#parts.patience.look(this.#parts.runtime.monotonicMs(), this.#parts.runtime.now());
    this.take([
      { kind: "CHANGEOVERS", changeovers: this.#parts.zones.changeovers() },
      { kind: "POOLS", pools },
      { kind: "EPOCHS_SEEN", epochs: seen },
      // Before: whose gateway lives, his workers may too.
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
      if (this.#flying === null) this.#leave();
    });
  }

  #leave(): void {
    for (const { shards, done } of this.#leaving.splice(0)) {
      if (!this.#over) this.take([{ kind: "LOST", shards }]);
      done(!this.#over);
    }
  }

  take(inputs: readonly Input[]): void {
    if (this.#over) return;
    const { runtime } = this.#parts;
    try {
      const result = step(this.state, this.#batch, inputs, runtime.now());
      for (const want of result.wants) this.#hydrator.read(want);
      this.#wakeAt(result.wakeAt);
      if (result.demand !== null) this.#events.demand(result.demand);
      for (const letter of result.permits) this.#post(letter);
      this.#flush();
      // What the batch had no room for goes into the next one while this one is on its way.
      if (result.more && !this.#batch.hasWrites) this.#wakeAt(runtime.now());
    } catch (error) {
      this.#parts.log.error({ err: error }, "the machine failed");
      this.#giveUp("MACHINE_FAILED", "the machine failed");
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
    if (!this.#over) this.#leavePatience();
    this.#over = true;
    this.#wake?.cancel();
    this.#hydrator.stop();
    this.#leave();
    this.#land();
  }

  #leavePatience(): void {
    const { patience, runtime } = this.#parts;
    patience.look(runtime.monotonicMs(), runtime.now());
    patience.leave(this.state, new Set(this.state.epochs.keys()), runtime.now());
  }

  /** Resolves when everything that was taken so far is committed and sent, or the ownership is over. */
  async settled(): Promise<void> {
    while (!this.#over && (this.#flying !== null || this.#batch.hasWrites)) {
      await new Promise<void>((resolve) => this.#landed.push(resolve));
    }
  }

  #wakeAt(at: number | null): void {
    this.#wake?.cancel();
    if (at === null) return;
    const delayMs = Math.max(0, at - this.#parts.runtime.now());
    this.#wake = this.#parts.runtime.setTimer(delayMs, () => this.take([]));
  }

  #flush(): void {
    if (this.#flying !== null || this.#over) return;
    const batch = this.#batch;
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
      log.warn({ err: error }, "a commit was not answered");
      return this.#giveUp("COMMIT_UNANSWERED", "a commit was not answered");
    }
    if (this.#over) return;
    const durationMs = runtime.monotonicMs() - beganMs;
    metrics.commit({ durationMs, changes: batch.changeCount, assigned: batch.assigns.length });
    this.#answered(batch, judge(batch, outcomes));
  }

  #answered(batch: Batch, verdict: Verdict): void {
    if (verdict.kind === "DROP") return this.#giveUp(verdict.cause, verdict.reason);
    if (!this.#events.trusted()) return this.#giveUp("LEASE_ENDED", "a commit took longer than the lease");
    // Before the next batch may leave: it may hold what follows from a plan that was not as expected.
    if (isAnyBorn(verdict.born)) this.take([{ kind: "BORN", ...verdict.born }]);
    if (this.#over) return;
    this.#flying = null;
    const { fenced } = verdict;
    if (fenced.length > 0) this.#fenced(batch, fenced);
    this.#leave();
    if (verdict.refused.length > 0) bury(this.state, batch, this.#batch, verdict.refused);
    const { missed } = verdict;
    if (missed.length > 0) this.take([{ kind: "CANDIDATES_MISSED", ids: missed }]);
    this.#release(batch, missed);
    this.take([{ kind: "FREED", freed: batch.freed }]);
    this.#pruneTouched();
    this.#land();
  }

  #fenced(batch: Batch, shards: readonly ShardId[]): void {
    batch.drop(new Set(shards));
    this.take([{ kind: "LOST", shards }]);
    this.#events.fenced(shards);
  }

  /** The batch is durable: what depends on it may leave. */
  #release(batch: Batch, missed: readonly string[]): void {
    const { bus, watchers, metrics, log } = this.#parts;
    countBatch(metrics, batch);
    for (const moved of batch.moved) log.info(moved, "other time zone data moved the next fire of a job");
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
    const wanted = this.#stillWanted(batch.assigns);
    if (wanted.length > 0) void this.#departures.send(wanted);
    const resends = batch.resends.filter((assign) => isStillWanted(this.state, assign));
    if (resends.length > 0) void this.#departures.send(resends);
  }

  /** The others are given back: neither what was missed nor what was given up meanwhile may begin now. */
  #stillWanted(assigns: readonly Assignment[]): readonly Assignment[] {
    if (this.#over) return [];
    const wanted = assigns.filter((assign) => isStillWanted(this.state, assign));
    if (wanted.length === assigns.length) return assigns;
    const unsent = assigns.filter((assign) => !isStillWanted(this.state, assign));
    this.take([{ kind: "UNSENT", assigns: unsent }]);
    return wanted;
  }

  #send(assigns: readonly Assignment[]): void {
    const byGateway = Map.groupBy(assigns, (assign) => assign.gateway);
    for (const [node, group] of byGateway) {
      this.#parts.bus.send({ node, role: "gateway" }, { kind: "ASSIGN", assigns: group });
    }
  }

  #post(letter: PermitLetter): void {
    const { bus } = this.#parts;
    // What this node owns it knows before it has told anybody.
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
