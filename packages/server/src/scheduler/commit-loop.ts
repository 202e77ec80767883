import type { Logger } from "pino";
import type { Candidate } from "../domain/execution.ts";
import type { EpochMs, Incarnation, ShardId } from "../domain/ids.ts";
import { deadLetterRefused } from "../engine/attempts/dead-letter-refused.ts";
import { Batch, type Moved } from "../engine/batch.ts";
import { DEFAULT_LIMITS, type Input, type ReadMark } from "../engine/inputs.ts";
import { sealBatch, step } from "../engine/machine.ts";
import type { PermitLetter } from "../engine/permits/permits.ts";
import { createState, hasRoom, type MachineState } from "../engine/state.ts";
import type { Bus } from "../ports/bus.ts";
import type { DueWindow } from "../ports/due-window.ts";
import type { Metrics, TakeoverCause } from "../ports/metrics.ts";
import type { Runtime, Timer } from "../ports/runtime.ts";
import type { Demand } from "../ports/share-messages.ts";
import type { ShardOutcome, Store } from "../ports/store.ts";
import type { TimeZoneRules } from "../ports/time-zone-rules.ts";
import { hintOwners } from "./hint-owners.ts";
import { OutboundAssignments } from "./outbound-assignments.ts";
import type { Owned } from "./ownership/shard-ownership.ts";
import type { ReadSizes } from "./reading/flow-turns.ts";
import { Hydrator, type Reader } from "./reading/hydrator.ts";
import type { Payloads } from "./reading/payloads.ts";
import type { PoolReader } from "./reading/pool-reader.ts";
import type { References } from "./reading/references.ts";
import { WaitingRows } from "./reading/waiting-rows.ts";
import { type Applied, judge, laterRows, shardCommits, type Verdict } from "./shard-commit.ts";
import type { Watchers } from "./watchers.ts";
import { countBatch } from "./watches/count-batch.ts";

export interface CommitLoopDependencies {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  log: Logger;
  metrics: Metrics;
  payloads: Payloads;
  references: References;
  watchers: Watchers;
  pools: PoolReader;
  /** Inputs that tell a new machine of the tenants; left out: there is only the default one. */
  aboutTenants?: (() => readonly Input[]) | undefined;
  /** The time zone data that this node plans by. */
  zones: TimeZoneRules;
  /** Window beside the store of what falls due soon; null or left out: there is none. */
  window?: DueWindow | null | undefined;
  /** Numbers of rows that reads bring; default: READ_SIZES. */
  readSizes?: ReadSizes | undefined;
  /** Whether the node writes lifecycle events now; left out: never. */
  events?: (() => boolean) | undefined;
  /** Whether the servers export spans; left out: they do not. */
  exportsSpans?: boolean | undefined;
  /** Called when commits with lifecycle events are durable. */
  eventsWritten?: (() => void) | undefined;
  /** Called when commits with deliveries of webhooks are durable. */
  deliveriesWritten?: (() => void) | undefined;
}

/** Events of the commit loop for the scheduler. */
export interface RunnerEvents {
  /**
   * Reports that the machine's state is not reliable any more. Called once; the loop commits and sends nothing after
   * it.
   */
  lost(cause: TakeoverCause, reason: string): void;
  /** Reports that other nodes own these shards. The machine has removed them. */
  fenced(shards: readonly ShardId[]): void;
  /** Reports the pools whose work waits for credit. */
  demand(demand: readonly Demand[]): void;
  /** Whether this node may still believe that it owns its shards. */
  trusted(): boolean;
}

/**
 * One life of the machine: handles inputs, steps the machine and commits its batch. Messages that depend on a commit
 * leave only after it. While a commit is in flight, the next batch fills, which groups commits.
 */
export class CommitLoop {
  readonly state: MachineState;
  readonly #deps: CommitLoopDependencies;
  readonly #hydrator: Hydrator;
  readonly #outbound: OutboundAssignments;
  /** null: there is no window beside the store. */
  readonly #waiting: WaitingRows | null;
  readonly #events: RunnerEvents;
  readonly #reads = new Map<number, number>();
  #batch = new Batch(1);
  #flying: Batch | null = null;
  #landed: (() => void)[] = [];
  readonly #leaving: { shards: readonly ShardId[]; done(isDone: boolean): void }[] = [];
  #wake: Timer | null = null;
  #over = false;

  constructor(deps: CommitLoopDependencies, events: RunnerEvents) {
    this.#deps = deps;
    this.#events = events;
    this.state = createState(DEFAULT_LIMITS);
    this.state.exportsSpans = deps.exportsSpans ?? false;
    this.#outbound = new OutboundAssignments({
      ...deps,
      state: this.state,
      give: (attempts) => this.take([{ kind: "UNSENDABLE", attempts }]),
    });
    const { window = null, bus, store, runtime } = deps;
    const knows = (executionId: string) => this.state.entries.has(executionId);
    this.#waiting = window && new WaitingRows({ store, window, node: bus.node, runtime, knows });
    const reader: Reader = {
      waiting: this.#waiting ?? undefined,
      take: (input) => this.take([input]),
      shards: () => [...this.state.epochs.keys()],
      readBegins: () => this.#readBegins(),
      readEnds: (mark) => this.#readEnds(mark),
      size: () => this.state.entries.size,
      commands: () => this.state.openCommands,
      inbox: () => this.state.inbox,
      hasRoom: (flow) => hasRoom(this.state, flow),
      plans: () => this.state.plans.byId.size,
      hasPlanRoom: (flow) => this.state.plans.hasRoom(flow, this.state.limits.plans),
      hasRuns: () => this.state.runs.byId.size > 0,
      pools: deps.pools,
      references: deps.references,
      tzdata: () => (deps.zones.changeovers().length === 0 ? null : deps.zones.inForce().tag),
    };
    this.#hydrator = new Hydrator(deps.store, deps.runtime, deps.log, reader, deps.readSizes);
  }

  /** Adds shards that this node has taken over. */
  own(owned: Owned): void {
    const { term, epochs, recovered, seen, gateways } = owned;
    const incarnation = this.#deps.bus.node;
    const isFirst = this.state.epochs.size === 0;
    this.take([
      { kind: "CHANGEOVERS", changeovers: this.#deps.zones.changeovers() },
      { kind: "POOLS", pools: this.#deps.pools.known },
      ...(this.#deps.aboutTenants?.() ?? []),
      { kind: "EPOCHS_SEEN", epochs: seen },
      // The list of living gateways comes first: workers of a living gateway may live too.
      { kind: "GATEWAYS", nodes: gateways },
      { kind: "OWNED", term, epochs, recovered, incarnation },
    ]);
    if (isFirst) this.#hydrator.start();
    else this.#hydrator.hurry();
  }

  /** Removes shards from the machine after the commit in flight has ended. @returns false: the machine has ended */
  releaseShards(shards: readonly ShardId[]): Promise<boolean> {
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

  /** Steps the machine. @returns whether work is left because the batch was full */
  #step(inputs: readonly Input[]): boolean {
    this.state.events = this.#deps.events?.() ?? false;
    try {
      const result = step(this.state, this.#batch, inputs, this.#deps.runtime.now());
      for (const want of result.wants) this.#hydrator.read(want);
      this.#wakeAt(result.wakeAt);
      if (result.demand !== null) this.#events.demand(result.demand);
      for (const letter of result.permits) this.#post(letter);
      return result.more;
    } catch (error) {
      this.#deps.log.error({ err: error }, "the scheduler's machine failed; the node takes its shards over again");
      this.#giveUp("MACHINE_FAILED", "the machine failed");
      return false;
    }
  }

  /** Applies changeovers of the time zone data that have become known or come into force. */
  followChangeovers(): void {
    this.take([{ kind: "CHANGEOVERS", changeovers: this.#deps.zones.changeovers() }]);
    if (!this.#over) this.#hydrator.lookForOtherZones();
  }

  /** Applies hints about rows that were just written. */
  hear(rows: readonly Candidate[]): void {
    this.#waiting?.written(rows.filter(({ queue, shard }) => queue === "WAITING" && this.state.epochs.has(shard)));
  }

  /** Reads the inbox, because commands for plans have arrived. */
  lookForCommands(): void {
    this.#hydrator.lookForCommands();
  }

  /** Ends the machine. The loop commits and sends nothing more. */
  stop(): void {
    this.#over = true;
    this.#wake?.cancel();
    this.#hydrator.stop();
    this.#outbound.stop();
    this.#left(false);
    this.#land();
  }

  /** Resolves when all inputs so far are committed and their messages sent. @returns false: the machine has ended */
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
    const delayMs = Math.max(0, at - this.#deps.runtime.now());
    this.#wake = this.#deps.runtime.setTimer(delayMs, () => this.take([]));
  }

  /** @param more whether the last step left work for the next one */
  #flush(more: boolean): void {
    if (this.#over) return;
    if (this.#flying === null) this.#sendOutbound(this.#batch);
    // The remaining work goes into the next batch, while this one is in flight.
    if (more && !this.#batch.hasWrites) this.#wakeAt(this.#deps.runtime.now());
  }

  #sendOutbound(batch: Batch): void {
    if (batch.hasWrites) {
      this.#flying = batch;
      this.#batch = sealBatch(batch);
      void this.#commit(batch);
    } else if (batch.hasMail) {
      this.#batch = sealBatch(batch);
      countBatch(this.#deps.metrics, batch);
      this.#release(batch, []);
    }
  }

  async #commit(batch: Batch): Promise<void> {
    const { store, runtime, log, metrics } = this.#deps;
    const beganMs = runtime.monotonicMs();
    let outcomes: ShardOutcome[];
    try {
      outcomes = await store.commit(shardCommits(batch, this.state.epochs));
    } catch (error) {
      if (this.#over) return;
      metrics.storeOutage();
      log.warn({ err: error }, "the store did not answer a commit; the node takes its shards over again");
      return this.#giveUp("COMMIT_UNANSWERED", "a commit was not answered");
    }
    const durationMs = runtime.monotonicMs() - beganMs;
    metrics.commit({ durationMs, changes: batch.changeCount, assigned: batch.assigns.length });
    const fenced = outcomes.filter(({ status }) => status === "FENCED").map(({ shard }) => shard);
    batch.drop(new Set(fenced));
    const verdict = judge(batch, outcomes);
    if (this.#accepts(verdict)) this.#answered(batch, fenced, verdict);
    // The store has applied the batch, although this machine has ended.
    else countBatch(metrics, batch);
  }

  /** @returns false: the machine has ended, or ends because of this answer */
  #accepts(verdict: Verdict): verdict is Applied {
    if (!this.#over && verdict.kind === "DROP") this.#giveUp(verdict.cause, verdict.reason);
    if (!this.#over && !this.#events.trusted()) this.#giveUp("LEASE_ENDED", "a commit took longer than the lease");
    return !this.#over;
  }

  /**
   * Handles the answer to a commit. One step applies all its consequences, then the batch's messages leave, and only
   * then the next batch may be committed.
   */
  #answered(batch: Batch, fenced: readonly ShardId[], verdict: Applied): void {
    const { created, missed, refused } = verdict;
    this.#flying = null;
    deadLetterRefused(this.state, batch, this.#batch, refused);
    const more = this.#step([
      { kind: "CREATED", ...created, batch: batch.number },
      { kind: "LOST", shards: [...fenced, ...this.#leaving.flatMap(({ shards }) => shards)] },
      { kind: "CANDIDATES_MISSED", ids: missed },
      { kind: "FREED", freed: batch.freed },
    ]);
    countBatch(this.#deps.metrics, batch);
    if (this.#over) return;
    this.#release(batch, missed);
    hintOwners(this.#deps.bus, (shard) => this.#ownerOf(shard), verdict);
    this.#waiting?.written(laterRows(batch));
    this.#pruneTouched();
    this.#flush(more);
    this.#left(true);
    if (fenced.length > 0) this.#events.fenced(fenced);
    this.#land();
  }

  /** Sends the messages of a batch that is durable. */
  #release(batch: Batch, missed: readonly string[]): void {
    const { bus, watchers, log } = this.#deps;
    for (const moved of batch.moved) log.info(legible(moved), "the scheduler moved the next fire of a job");
    const skip = new Set(missed);
    for (const [node, workers] of batch.acks) {
      for (const [workerId, tokens] of workers) bus.send({ node, role: "gateway" }, { kind: "ACK", workerId, tokens });
    }
    for (const [node, workers] of batch.stepAcks) {
      for (const [workerId, steps] of workers)
        bus.send({ node, role: "gateway" }, { kind: "STEPPED", workerId, steps });
    }
    for (const { node, message } of batch.toGateway) bus.send({ node, role: "gateway" }, message);
    for (const node of bus.nodes("api")) {
      for (const { message } of batch.toApi) bus.send({ node, role: "api" }, message);
    }
    let [hasEvents, hasDeliveries] = [false, false];
    for (const draft of batch.shards.values()) {
      for (const change of draft.changes.values()) if (!skip.has(change.id)) watchers.committed(change);
      hasEvents ||= draft.events !== null || draft.inbox !== null;
      hasDeliveries ||= draft.deliveries !== null;
    }
    if (hasEvents) this.#deps.eventsWritten?.();
    if (hasDeliveries) this.#deps.deliveriesWritten?.();
    void this.#outbound.send(batch.assigns);
    this.#outbound.resend(batch.resends);
  }

  #post(letter: PermitLetter): void {
    const { bus } = this.#deps;
    const node = "toNode" in letter ? letter.toNode : this.#ownerOf(letter.toOwnerOf);
    if (node !== null) bus.send({ node, role: "scheduler" }, letter.message);
  }

  /** The node knows its own shards before it has told other nodes. */
  #ownerOf(shard: ShardId): Incarnation | null {
    const { bus } = this.#deps;
    return this.state.epochs.has(shard) ? bus.node : bus.ownerOf(shard);
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
    this.state.recentWrites.prune(Math.min((this.#flying ?? this.#batch).number, ...this.#reads.keys()));
  }
}

function legible({ from, to, ...moved }: Moved): object {
  const instant = (at: EpochMs | null) => (at === null ? null : new Date(at).toISOString());
  return { ...moved, from: instant(from), to: instant(to) };
}
