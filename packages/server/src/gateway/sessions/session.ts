import type { WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { EpochMs, Incarnation, ShardId } from "../../domain/ids.ts";
import type { Principal } from "../../ports/authenticator.ts";
import type {
  Assignment,
  Credit,
  FinishedAttempt,
  HeldAttempt,
  Token,
  WorkerProfile,
  WorkerStatus,
} from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { DurableStep } from "../../ports/step-messages.ts";
import type { TenantPools } from "../../security/tenant-ring.ts";
import { hearHolds } from "../connections/hear-holds.ts";
import { capacityOf, takenOf } from "../connections/hello-holds.ts";
import type { Link } from "../connections/link.ts";
import type { Counters } from "../counters.ts";
import { Ahead } from "../credits/ahead.ts";
import { recipientsOf, revokeFor } from "../credits/credit-allocator.ts";
import { Credits } from "../credits/credits.ts";
import type { Demands } from "../credits/demands.ts";
import type { FailedAttemptsLog } from "../failed-attempts-log.ts";
import { DECLINED_MS, RESEND_AFTER_MS, RESEND_WAIT_MAX_MS } from "../limits.ts";
import type { Offers } from "../offers.ts";
import type { OutputRelay } from "../output-relay.ts";
import type { OwnerReports } from "../owner-reports.ts";
import type { Owners } from "../owners.ts";
import { assignOf, cancelOf, releasedOf, wireTokenOf } from "../translate.ts";
import type { WorkerEvents } from "../worker-events.ts";
import { type Held, HeldAttempts } from "./held.ts";
import { type LastHeard, restartLastHeard } from "./liveness.ts";
import { Outgoing } from "./outgoing.ts";
import { Questions } from "./questions.ts";
import { StepBudget } from "./step-budget.ts";
import { failUnsupported, hasRecords, recordedOf, sendRecorded } from "./steps.ts";
import { UnacknowledgedEnds } from "./unacknowledged-ends.ts";
import { hearFinished, hearStarted, hearStep } from "./worker-reports.ts";

/** Dependencies that all sessions of a gateway share. */
export interface GatewayContext {
  /** The gateway's incarnation. */
  node: Incarnation;
  runtime: Runtime;
  log: Logger;
  owners: Owners;
  demands: Demands;
  reports: OwnerReports;
  counters: Counters;
  output: OutputRelay;
  failures: FailedAttemptsLog;
  offers: Offers;
  pools: TenantPools;
  /** null: the gateway writes no events of workers. */
  workerEvents: WorkerEvents | null;
  /** Whether every node of the cluster understands records of handlers. */
  takesSteps(): boolean;
  /** @returns the number of a new account; they grow */
  nextAccount(): number;
}

/**
 * One worker at this gateway, over all connections of its process: the attempts that it holds, its credits, and the
 * messages that wait for it. A session uses no sockets or timers itself.
 */
export class Session {
  readonly profile: WorkerProfile;
  /** Caller whose key the worker has shown last; null: the transport asks for none. */
  principal: Principal | null;
  readonly held = new HeldAttempts();
  readonly credits = new Credits();
  readonly lastHeard: LastHeard;
  readonly outgoing = new Outgoing();
  /** Present connection of the worker; null: the connection broke. */
  link: Link | null = null;
  /** Number of the worker's last connection here, counted over all gateways; 0: not reported. */
  connection = 0;
  isDraining = false;
  /** Whether the worker answers questions about its attempts; workers of the release before do not. */
  isAuthority = false;
  /** Whether the worker understands records of earlier attempts. */
  takesSteps = false;
  /** Whether the gateway sent the worker to another gateway and it has not come back since. */
  isSentAway = false;
  /** Time of the last request to hand attempts back, on the monotonic clock. */
  tookBackAtMs = Number.NEGATIVE_INFINITY;
  /** Id of the session in events; null: no event told its begin. */
  told: string | null = null;
  /** Whether the session waits for `Fleet.settle`. */
  isMarked = false;
  /** Work that the worker gets ahead of its free slots; null: its prefetch is fixed. */
  readonly ahead: Ahead | null;
  /** Ends of attempts that only this gateway knows, until their owners acknowledge them. */
  readonly ends = new UnacknowledgedEnds();
  readonly #questions = new Questions();
  readonly #context: GatewayContext;
  readonly #connectedAt: EpochMs;
  #heartbeatAt: EpochMs;
  #loopLagMs = 0;
  #resendAskedAtMs = Number.NEGATIVE_INFINITY;
  #resendWaitMs = RESEND_AFTER_MS;

  constructor(profile: WorkerProfile, context: GatewayContext, principal: Principal | null = null) {
    this.profile = profile;
    this.principal = principal;
    this.ahead = profile.autoPrefetch === true ? new Ahead() : null;
    this.lastHeard = { heardAtMs: context.runtime.monotonicMs(), brokenAtMs: null };
    this.#context = context;
    this.#connectedAt = context.runtime.now();
    this.#heartbeatAt = this.#connectedAt;
    for (const owner of context.owners.all) this.openAccount(owner);
  }

  /** Number of free slots. */
  get free(): number {
    return Math.max(0, this.profile.slots - this.held.occupied);
  }

  /** Whether the worker is connected, not draining, and reads its messages fast enough. */
  get takesWork(): boolean {
    return this.link !== null && !this.isDraining && !this.link.isCongested();
  }

  // ---- from owners --------------------------------------------------------------------------------------------------

  /** Opens a new account. Former credits become free; assignments under them are dropped. */
  openAccount(owner: Incarnation): void {
    this.credits.open(owner, this.#context.nextAccount());
  }

  /**
   * Delivers an assignment, or reports to its owner that it was not delivered; after such a report the token is never
   * delivered. Ignores an assignment of an older account, a repeated one, and one whose credit was declared void: the
   * owner sees in the full sync which numbers arrived.
   */
  assign(owner: Incarnation, assignment: Assignment): void {
    const account = this.credits.account(owner);
    if (account?.number !== assignment.account || !account.use(assignment.credit)) return;
    account.usedAtMs = this.#context.runtime.monotonicMs();
    const known = this.held.get(assignment.executionId, assignment.attempt);
    // The attempt was assigned twice under different numbers, and the worker reports about it.
    if (known !== null && known.state !== "OVER") return;
    if (known !== null || !this.takesWork) return this.return(assignment);
    const recorded = recordedOf(assignment);
    if (!this.takesSteps && hasRecords(recorded)) return failUnsupported(this, assignment, this.#context);
    this.#context.counters.assignsSent++;
    const { shard, executionId, attempt, handler, traceparent = null } = assignment;
    const token = { shard, executionId, attempt };
    const [sentAtMs, askable] = [account.usedAtMs, this.#questions.next];
    const budget = recorded === null ? null : new StepBudget(recorded.steps);
    const of = { token, handler, traceparent };
    this.held.add({ ...of, state: "ASSIGNED", startedAt: null, sentAtMs, askable, budget });
    if (recorded !== null && this.takesSteps) sendRecorded(this, assignment, recorded);
    this.outgoing.assigns.push(assignOf(assignment));
  }

  /** Reports to the owner that an attempt was not delivered. */
  return(token: Token): void {
    const { counters, runtime } = this.#context;
    counters.assignsReturned++;
    this.reportEnd(releasedOf(token, this.profile.workerId, runtime.now()));
  }

  /** Reports the end of an attempt that the worker will not report again. */
  reportEnd(end: FinishedAttempt): void {
    const { reports, owners, runtime } = this.#context;
    this.ends.add(end, runtime.monotonicMs());
    reports.finished(owners.of(end.shard), end);
  }

  /** Frees the slots of numbers that no assignment will use. */
  void(owner: Incarnation, account: number, credits: readonly number[]): void {
    const open = this.credits.account(owner);
    if (open?.number !== account) return;
    let isFreed = false;
    for (const credit of credits) if (open.use(credit)) isFreed = true;
    const nowMs = this.#context.runtime.monotonicMs();
    if (isFreed) open.usedAtMs = nowMs;
    if (isFreed && nowMs - open.revokedAtMs < DECLINED_MS) open.decline(nowMs);
  }

  cancel(token: Token, reason: "REQUESTED" | "TIMED_OUT", graceMs: number): void {
    const held = this.held.get(token.executionId, token.attempt);
    if (held === null || held.state === "FINISHED" || held.state === "OVER") return;
    this.outgoing.cancels.push(cancelOf(held.token, reason, graceMs));
  }

  acknowledge(token: Token): void {
    const held = this.held.get(token.executionId, token.attempt);
    if (held !== null) this.held.settle(held, held.stillRunning);
    this.ends.delete(token);
    this.#resendWaitMs = RESEND_AFTER_MS;
    this.outgoing.acks.push(wireTokenOf(token));
  }

  acknowledgeRecord({ number, ...token }: DurableStep): void {
    this.held.stored(token, number);
    this.#resendWaitMs = RESEND_AFTER_MS;
    this.outgoing.stepAcks.push({ $typeName: "mainspring.worker.v1.StepAck", token: wireTokenOf(token), number });
  }

  /** Refuses an attempt that is not current. Its slot is free once the worker reports the handler's end. */
  refuse(token: Token): void {
    const held = this.held.get(token.executionId, token.attempt);
    if (held !== null) this.held.settle(held, this.isAuthority && (held.state !== "FINISHED" || held.stillRunning));
    this.ends.delete(token);
    this.#context.counters.refused++;
    this.outgoing.refused.push(wireTokenOf(token));
  }

  /** Asks the worker which attempts it holds, for an owner, under the epochs that this gateway knows by now. */
  askFor(owner: Incarnation): void {
    if (this.isAuthority && this.link !== null) this.#questions.want(owner);
    else this.introduceTo(owner);
  }

  // ---- from the worker ----------------------------------------------------------------------------------------------

  receive(message: WorkerMessage): void {
    for (const started of message.started) hearStarted(this, started, this.#context);
    for (const step of message.steps) hearStep(this, step, this.#context);
    for (const finished of message.finished) hearFinished(this, finished, this.#context);
    for (const { executionId, attempt } of message.ended) {
      const held = this.held.get(executionId, attempt);
      if (held !== null) this.held.end(held);
    }
    if (message.holds !== undefined) hearHolds(this, this.#questions, message.holds, this.#context);
    if (message.heartbeat !== undefined) {
      this.#heartbeatAt = this.#context.runtime.now();
      this.#loopLagMs = message.heartbeat.loopLagMs;
    }
  }

  finish(held: Held, stillRunning = false): void {
    this.held.finish(held, stillRunning, this.#context.runtime.monotonicMs());
  }

  // ---- to owners ----------------------------------------------------------------------------------------------------

  /**
   * Introduces this worker to an owner, with all attempts of the owner's shards; its credit follows when the session is
   * settled. Sends nothing while the worker is disconnected, because it may be at another gateway with more attempts
   * than this one knows.
   * @param isAnswer whether the worker itself has answered, under the owner's present epochs
   */
  introduceTo(owner: Incarnation, isAnswer = false): void {
    const { reports, owners } = this.#context;
    const account = this.credits.account(owner);
    if (account === undefined || this.link === null) return;
    const { profile: worker, connection } = this;
    const term = owners.termOf(owner);
    const holds = this.#holdsOf(owner);
    reports.tell(owner, { kind: "WORKER_UP", term, worker, connection, account: account.number, holds, isAnswer });
    if (this.isDraining) reports.tell(owner, { kind: "WORKER_DRAINING", workerId: worker.workerId });
    account.told = 0;
  }

  /** Credit of an owner for the full sync; null: the owner has no account. */
  creditOf(owner: Incarnation): Credit | null {
    const account = this.credits.account(owner);
    if (account === undefined) return null;
    const { number, granted, highest } = account;
    const { workerId } = this.profile;
    const { stuck } = this.held;
    const credit = { workerId, account: number, granted, highest, missing: account.missing(), free: this.free, stuck };
    const ahead = this.#allowedAhead;
    return ahead === null ? credit : { ...credit, ahead };
  }

  holdsAnyOf(shards: ReadonlySet<ShardId>): boolean {
    for (const { token } of this.held) if (shards.has(token.shard)) return true;
    return false;
  }

  #holdsOf(owner: Incarnation): HeldAttempt[] {
    const holds: HeldAttempt[] = [];
    for (const { token, startedAt, state } of this.held) {
      if (state !== "OVER" && this.#context.owners.of(token.shard) === owner) holds.push({ ...token, startedAt });
    }
    return holds;
  }

  /**
   * Allocates slots that have become free, and sends collected messages.
   * @returns whether an owner waits for credits that other owners do not use
   */
  settle(isAllocating: boolean): boolean {
    const isRevoking = isAllocating && this.takesWork && this.#allocate();
    const { reports } = this.#context;
    for (const [owner, account] of this.credits.accounts()) {
      if (account.told !== account.granted) reports.credit(owner, this.profile.workerId, account, this.#allowedAhead);
    }
    // A worker that ends waits for the acknowledgement of its last results.
    if (this.outgoing.isUrgent || this.isDraining || this.isAsking) this.send();
    return isRevoking;
  }

  #allocate(): boolean {
    const { owners, demands, reports, runtime } = this.#context;
    const { workerId, pool } = this.profile;
    const claims = demands.of(pool);
    const nowMs = runtime.monotonicMs();
    this.credits.allocate(recipientsOf(this.credits, owners.all, claims, nowMs), this.room, nowMs);
    if (claims.length === 0) return false;
    return revokeFor(this.credits, claims, nowMs, (owner, account) => reports.revoke(owner, workerId, account));
  }

  /** Number of attempts that may wait at a worker with automatic prefetch now; null: the prefetch is fixed. */
  get #allowedAhead(): number | null {
    return this.ahead?.allowed(this.#context.runtime.monotonicMs()) ?? null;
  }

  /** Number of attempts that the worker could get now: none if stuck handlers occupy every slot. */
  get room(): number {
    const { slots, prefetch } = this.profile;
    if (this.held.stuck >= slots) return 0;
    const capacity = capacityOf({ slots, prefetch: this.#allowedAhead ?? prefetch });
    return Math.max(0, capacity - takenOf(this.held, capacity));
  }

  /** Sends all collected messages, urgent or not. */
  send(): void {
    const { owners, runtime } = this.#context;
    // A question covers all messages that leave with it or before it.
    if (this.link !== null) this.outgoing.ask ??= this.#questions.take(owners, runtime.monotonicMs());
    if (this.outgoing.isEmpty) return;
    // The holds in the worker's next hello settle assignments that were not delivered.
    const { link } = this;
    if (link === null) return this.outgoing.clearAllButAcks();
    for (const message of this.outgoing.take()) link.send(message);
  }

  /** Whether a question waits to be sent. */
  get isAsking(): boolean {
    return this.#questions.isWanted;
  }

  /** Notes the end of the connection. The worker answers no more questions that were sent over it. */
  disconnect(): void {
    this.link = null;
    this.#questions.clear();
  }

  /** Asks about attempts that should have started by now. Disconnects a worker that leaves questions open. */
  chaseStarts(nowMs: number): void {
    if (this.link === null) return;
    if (this.#questions.isIgnored(nowMs, this.lastHeard.heardAtMs)) {
      return this.link.close("ABORTED", "this worker does not say what it holds; it may connect again");
    }
    if (this.isAuthority) this.#questions.doubt(this.held, nowMs);
  }

  /** Repeats reports of ends that only this gateway knows, and asks for records and results again, where messages seem to be lost. */
  chaseResults(nowMs: number): void {
    if (!this.ends.isEmpty) this.#repeatEnds(nowMs);
    if (this.link === null || !this.held.awaitsOwners) return;
    if (nowMs - this.#resendAskedAtMs < this.#resendWaitMs || !this.held.hasWaitedSince(nowMs - RESEND_AFTER_MS))
      return;
    this.askForResults();
    this.#resendWaitMs = Math.min(2 * this.#resendWaitMs, RESEND_WAIT_MAX_MS);
  }

  /** Restarts the clocks: this process was stalled, so nobody else can be blamed for silence. */
  restart(nowMs: number): void {
    restartLastHeard(this.lastHeard, nowMs);
    this.#resendAskedAtMs = nowMs;
  }

  #repeatEnds(nowMs: number): void {
    const { reports, owners } = this.#context;
    for (const end of this.ends.overdue(nowMs)) reports.finished(owners.of(end.shard), end);
  }

  /** Asks the worker to send its unacknowledged records and results again, if it has any. */
  askForResults(): void {
    if (!this.held.awaitsOwners) return;
    this.#resendAskedAtMs = this.#context.runtime.monotonicMs();
    this.outgoing.resendResults = true;
  }

  status(): WorkerStatus {
    return {
      ...this.profile,
      prefetch: this.#allowedAhead ?? this.profile.prefetch,
      state: this.link === null ? "DISCONNECTED" : this.isDraining ? "DRAINING" : "ALIVE",
      running: this.held.running,
      free: this.free,
      stuck: this.held.stuck,
      connectedAt: this.#connectedAt,
      lastHeartbeatAt: this.#heartbeatAt,
      loopLagMs: this.#loopLagMs,
    };
  }
}
