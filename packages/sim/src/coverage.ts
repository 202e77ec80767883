import {
  type Committed,
  type ExecutionRow,
  isCompensation,
  type Pool,
  type StoreEvent,
} from "@mainspring/server/testing";
import { assignedIn, isChildRun, isOver, type Ledger } from "./checkers/recurring/ledger.ts";
import type { Observer, SimEvent } from "./history.ts";
import { PLANS_SOMETIMES, PlanCoverage } from "./plan-coverage.ts";

type BornNode = Committed["asked"]["births"][number];

/**
 * Events that must occur in every campaign, or the campaign proves nothing: kinds of faults, and the rare ways through
 * the system.
 */
const SOMETIMES = [
  "SERVER_KILLED",
  "SERVER_PAUSED",
  "STORE_DOWN",
  "WORKER_KILLED",
  "WORKER_PAUSED",
  "CONNECTION_BROKEN",
  "CLOCK_SKEWED",
  "LOOP_BLOCKED",
  "NETWORK_CUT",
  "LEASES_DOWN",
  "LEASES_WRONG",
  "packet LOST",
  "packet REPEATED",
  "packet HELD",
  "packet CUT_OFF",
  "commit FENCED",
  "shard let go",
  "result refused by the store",
  "unknown commit took effect",
  "unknown commit did not take effect",
  "takeover with an open journal",
  "submit repeated after it was done",
  "unique key deduplicated",
  "stale attempt refused",
  "worker declared lost",
  "zombie came back",
  "attempt RELEASED",
  "attempt WORKER_LOST",
  "attempt FAILED",
  "attempt TIMED_OUT",
  "attempt SUSPENDED",
  "command SIGNAL",
  "signal consumed",
  "lost hint found by the sweep",
  "cancelled before it started",
  "cancelled while it ran",
  "cancellation ignored and forced",
  "cancelled and finished all the same",
  "command repeated to a next owner",
  "execution DEAD",
  "lifetime ended in a suspension",
  "lifetime ended with an attempt",
  "journal row held longer than its commit",
  "REPLAY_SOME",
  "REPLAY_ALL",
  "DRAIN_NODE",
  "command REPLACE",
  "command DELETE",
  "pool at its limit",
  "limit of a pool lowered",
  "pool at its limit after a takeover in flight",
] as const;

/** Events of workflow runs that must occur in every campaign. */
const RUNS_SOMETIMES = [
  "command PAUSE_RUN",
  "command RESUME_RUN",
  "run paused",
  "run resumed",
  "run cancelled in a pause",
  "run fails in a pause",
  "node parked",
  "node parked when its attempt ended",
  "node no longer parked",
  "takeover of a paused run",
  "signal to a node without an execution",
  "nodes added",
  "nodes added in a paused run",
  "keyed node in another shard than its run",
  "keyed node ended while its run was paused",
  "end of a keyed node told to another shard",
  "keyed node cancelled with its run",
  "keyed item of a map",
  "keyed compensation",
  "signal passed on to a keyed node",
  "sub-workflow opened",
  "sub-workflow of a sub-workflow opened",
  "sub-workflow ended before it was opened",
  "open sub-workflow ended with its parent",
  "sub-workflow ended while its parent was paused",
  "node assigned in the commit of its creation",
  "node assigned in a commit that does not create it",
] as const;

/** Simulated hours from which on a missing event is reported. */
const ENOUGH_HOURS = 20;
/** The same for recurring jobs, of which each hour has few, and for workflows, which few seeds have. */
const ENOUGH_HOURS_OF_PLANS = 100;

/** Required events that did not occur. @param hours simulated hours */
export function neverHappened(seen: ReadonlySet<string>, hours: number): string[] {
  const wanted = [
    ...(hours < ENOUGH_HOURS ? [] : SOMETIMES),
    ...(hours < ENOUGH_HOURS_OF_PLANS ? [] : [...PLANS_SOMETIMES, ...RUNS_SOMETIMES]),
  ];
  return wanted.filter((what) => !seen.has(what));
}

function lifetimeEnd(before: ExecutionRow, after: ExecutionRow): string {
  if (after.attempts.length > before.attempts.length) return "lifetime ended with an attempt";
  return before.steps === "SLEEPING" || before.steps === "AWAITING"
    ? "lifetime ended in a suspension"
    : "lifetime ended while it waited";
}

function isKeyed({ node, job }: ExecutionRow): boolean {
  return node !== null && node >= 0 && job.definition.concurrencyKey !== null;
}

/** Counts events. */
export class Coverage implements Observer {
  readonly name = "sometimes";
  readonly #counts = new Map<string, number>();
  readonly #ledger: Ledger;
  readonly #hinted = new Set<string>();
  readonly #lost = new Set<string>();
  readonly #cancelling = new Map<string, string>();
  readonly #running = new Set<string>();
  /**
   * Limits of pools on current attempts, and pools that were limited when shards with attempts in flight were taken
   * over.
   */
  readonly #limits = new Map<string, number>();
  readonly #takenOver = new Set<string>();
  readonly #plans = new PlanCoverage();
  /** Shards of the runs that are paused, by run. */
  readonly #paused = new Map<string, number>();

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  figures(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }

  saw(event: StoreEvent): void {
    this.#count(event.kind);
    if (event.kind === "COMMITTED") this.#committed(event);
    else if (event.kind === "SUBMITTED") this.#submitted(event);
    else if (event.kind === "COMMANDED") this.#commanded(event);
    else if (event.kind === "POOL_SET") this.#limited(event.pool);
    else if (event.kind === "SIGNALLED") this.#signalled(event.executionId);
    else if (event.kind === "TAKEN_OVER") {
      const taken = new Set(event.shards.map(({ shard }) => shard));
      if ([...this.#paused.values()].some((shard) => taken.has(shard))) this.#count("takeover of a paused run");
      if (event.shards.some(({ from }) => from === null)) this.#count("shard let go");
      const isOpen = [...this.#ledger.open].some((id) => this.#ledger.get(id)?.current != null);
      if (isOpen) this.#count("takeover with an open journal");
      if (isOpen) for (const pool of this.#limits.keys()) this.#takenOver.add(pool);
    }
  }

  #commanded({ command, by }: Extract<StoreEvent, { kind: "COMMANDED" }>): void {
    if (command.kind === "CANCEL") this.#cancelling.set(command.executionId, by);
    else this.#count(`command ${command.kind}`);
  }

  #submitted({ outcome }: Extract<StoreEvent, { kind: "SUBMITTED" }>): void {
    if (outcome.kind !== "ACCEPTED") return;
    if (outcome.replayed) this.#count("submit repeated after it was done");
    else if (outcome.jobs.some(({ deduplicated }) => deduplicated)) this.#count("unique key deduplicated");
  }

  #committed(event: Extract<StoreEvent, { kind: "COMMITTED" }>): void {
    const { asked, outcome, applied, by } = event;
    if (outcome.status === "FENCED") return this.#count("commit FENCED");
    if (outcome.missed.length > 0) this.#count("hint was stale");
    for (const what of this.#plans.seenIn(event)) this.#count(what);
    const given = assignedIn(event);
    if (given.length > asked.assigned.length) this.#count("node assigned in the commit of its creation");
    const isLeftOut = ({ row, assigned }: BornNode) => assigned !== undefined && outcome.notBorn.includes(row.id);
    if (asked.births.some(isLeftOut)) this.#count("node assigned in a commit that does not create it");
    for (const { id } of given) this.#assigned(id);
    if (given.length > 0) for (const [pool, limit] of this.#limits) this.#filled(pool, limit);
    if (asked.steps.some(({ signalId }) => signalId !== undefined)) this.#count("signal consumed");
    this.#keyed(event);
    for (const { before, after } of applied) if (isChildRun(after)) this.#nested(before, after);
    for (const run of event.runs) this.#turned(run);
    const adds = new Set(asked.changes.flatMap(({ id, spawn }) => (spawn === undefined ? [] : [id])));
    for (const { before, after } of applied) {
      if (isOver(after.state)) this.#paused.delete(after.id);
      if (adds.has(after.id))
        this.#count(this.#paused.has(after.job.jobId) ? "nodes added in a paused run" : "nodes added");
      if (after.queue === "PARKED" && before.queue !== "PARKED")
        this.#count(
          after.attempts.length > before.attempts.length ? "node parked when its attempt ended" : "node parked",
        );
      if (before.queue === "PARKED" && after.queue !== "PARKED") this.#count("node no longer parked");
      if (after.state === "RUNNING") this.#count("journal row held longer than its commit");
      for (const { state } of after.attempts.slice(before.attempts.length)) this.#count(`attempt ${state}`);
      if (!isOver(after.state)) continue;
      this.#count(`execution ${after.state}`);
      if (after.reason === "RESULT_REFUSED") this.#count("result refused by the store");
      if (after.reason === "LIFETIME_EXCEEDED") this.#count(lifetimeEnd(before, after));
      this.#cancelled(after.id, after.state, after.attempts.at(-1)?.error !== undefined, by);
    }
  }

  /** Counts events of nodes with concurrency keys. */
  #keyed({ nodes, applied, asked, outcome }: Committed): void {
    for (const row of nodes.filter(isKeyed)) {
      if (row.job.shard !== this.#ledger.get(row.job.jobId)?.row.job.shard)
        this.#count("keyed node in another shard than its run");
      if (row.item !== null) this.#count("keyed item of a map");
      if (isCompensation(row.node ?? 0)) this.#count("keyed compensation");
    }
    for (const { after } of applied) {
      if (!isKeyed(after) || !isOver(after.state)) continue;
      if (this.#paused.has(after.job.jobId)) this.#count("keyed node ended while its run was paused");
      if (after.reason?.startsWith("WORKFLOW_")) this.#count("keyed node cancelled with its run");
    }
    for (const { kind, shard } of outcome.added ?? []) {
      if (kind === "NODE_ENDED" && shard !== asked.shard) this.#count("end of a keyed node told to another shard");
      if (kind === "SIGNAL") this.#count("signal passed on to a keyed node");
    }
  }

  /** Counts events of the runs of sub-workflows. */
  #nested(before: ExecutionRow, after: ExecutionRow): void {
    const parent = this.#ledger.get(after.job.jobId)?.row;
    if (after.queue === "OPEN" && before.queue !== "OPEN") {
      this.#count("sub-workflow opened");
      if (parent !== undefined && isChildRun(parent)) this.#count("sub-workflow of a sub-workflow opened");
    }
    if (!isOver(after.state)) return;
    if (before.queue !== "OPEN") this.#count("sub-workflow ended before it was opened");
    else if (after.reason?.startsWith("WORKFLOW_")) this.#count("open sub-workflow ended with its parent");
    if (this.#paused.has(after.job.jobId)) this.#count("sub-workflow ended while its parent was paused");
  }

  #assigned(id: string): void {
    const job = this.#ledger.get(id)?.row.job;
    if (job?.queue === "READY" && !this.#hinted.has(id)) this.#count("lost hint found by the sweep");
  }

  #turned({ before, after }: Committed["runs"][number]): void {
    if (after.paused) this.#paused.set(after.run, after.shard);
    else this.#paused.delete(after.run);
    if (after.paused && !before.paused) this.#count("run paused");
    if (after.paused && before.mode !== after.mode) this.#count("run fails in a pause");
    if (!before.paused || after.paused) return;
    this.#count(before.mode === after.mode ? "run resumed" : "run cancelled in a pause");
  }

  #signalled(executionId: string): void {
    if (this.#ledger.get(executionId) === undefined) this.#count("signal to a node without an execution");
  }

  #limited({ name, maxRunning }: Pool): void {
    const before = this.#limits.get(name) ?? Number.POSITIVE_INFINITY;
    if (before > (maxRunning ?? Number.POSITIVE_INFINITY)) this.#count("limit of a pool lowered");
    if (maxRunning === null) this.#limits.delete(name);
    else this.#limits.set(name, maxRunning);
  }

  #filled(pool: string, limit: number): void {
    let current = 0;
    for (const id of this.#ledger.open) {
      const account = this.#ledger.get(id);
      if (account?.current != null && account.row.job.definition.pool === pool) current++;
    }
    if (current < limit) return;
    this.#count("pool at its limit");
    if (this.#takenOver.delete(pool)) this.#count("pool at its limit after a takeover in flight");
  }

  #cancelled(id: string, state: string, hasRun: boolean, by: string): void {
    const askedOf = this.#cancelling.get(id);
    if (askedOf === undefined) return;
    this.#cancelling.delete(id);
    if (askedOf !== by) this.#count("command repeated to a next owner");
    if (state === "SUCCEEDED") this.#count("cancelled and finished all the same");
    if (state !== "CANCELLED") return;
    if (this.#running.has(id)) this.#count("cancellation ignored and forced");
    else this.#count(hasRun ? "cancelled while it ran" : "cancelled before it started");
  }

  noticed(event: SimEvent): void {
    this.#count(event.kind);
    if (event.kind === "FAULT") this.#count(event.fault);
    else if (event.kind === "NETWORK_FAULT") this.#count(`packet ${event.fault}`);
    else if (event.kind === "OPERATED") this.#count(event.deed);
    else if (event.kind === "STORE_FAULT") this.#storeFault(event.fault, event.operation);
    else if (event.kind === "HINTED") for (const id of event.executionIds) this.#hinted.add(id);
    else if (event.kind === "REFUSED") this.#count("stale attempt refused");
    else if (event.kind === "HANDLER_STARTED") this.#running.add(event.executionId);
    else if (event.kind === "HANDLER_ENDED") this.#running.delete(event.executionId);
    else this.#worker(event);
  }

  #worker(event: SimEvent): void {
    if (event.kind === "DECLARED_LOST") {
      this.#lost.add(event.worker);
      this.#count("worker declared lost");
    } else if (event.kind === "GREETED" && this.#lost.delete(event.worker) && event.holds.length > 0) {
      this.#count("zombie came back");
    }
  }

  #storeFault(fault: string, operation: string): void {
    this.#count(fault);
    if (operation !== "commit") return;
    const took = fault === "ANSWER_LOST" || fault === "LATE_EFFECT";
    this.#count(took ? "unknown commit took effect" : "unknown commit did not take effect");
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
