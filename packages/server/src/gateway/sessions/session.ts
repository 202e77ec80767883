import { type Finished, Outcome, type Started, type WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { EpochMs, Incarnation, ShardId } from "../../domain/ids.ts";
import type { Assignment, Credit, HeldAttempt, Token, WorkerProfile, WorkerStatus } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { hearHolds } from "../connections/hear-holds.ts";
import { capacityOf, takenOf } from "../connections/hello-holds.ts";
import type { Link } from "../connections/link.ts";
import type { Counters } from "../counters.ts";
import type { FailedAttemptsLog } from "../failed-attempts-log.ts";
import { Credits } from "../lending/credits.ts";
import type { Demands } from "../lending/demands.ts";
import { recallFor, takersOf } from "../lending/lender.ts";
import { DECLINED_MS, RESEND_AFTER_MS, RESEND_WAIT_MAX_MS, TAKE_BACK_EVERY_MS } from "../limits.ts";
import type { News } from "../news.ts";
import type { Owners } from "../owners.ts";
import type { Talk } from "../talk.ts";
import { assignOf, cancelOf, finishedOf, instantOf, releasedOf, tokenOf, wireTokenOf } from "../translate.ts";
import { type Held, HeldAttempts } from "./held.ts";
import { type Pulse, restartPulse } from "./liveness.ts";
import { Outgoing } from "./outgoing.ts";
import { Questions } from "./questions.ts";
import { ReturnedAttempts } from "./returned.ts";

/** Dependencies that all sessions of a gateway share. */
export interface Surroundings {
  /** The gateway's incarnation. */
  node: Incarnation;
  runtime: Runtime;
  log: Logger;
  owners: Owners;
  demands: Demands;
  news: News;
  counters: Counters;
  talk: Talk;
  failures: FailedAttemptsLog;
  /** @returns the number of a new account; they grow */
  nextAccount(): number;
}

/**
 * One worker at this gateway, over as many connections as its process makes: what it holds, what was lent of it, and
 * what goes to it next. It knows no socket and no timer.
 */
export class Session {
  readonly profile: WorkerProfile;
  readonly held = new HeldAttempts();
  readonly credits: Credits;
  readonly pulse: Pulse;
  readonly outgoing = new Outgoing();
  /** null: its connection broke. */
  link: Link | null = null;
  /** The how-manieth of the worker its last connection here is; 0: it does not say. */
  connection = 0;
  isDraining = false;
  /** Whether the worker answers for what it holds; workers of the release before do not. */
  isAuthority = false;
  /** It was asked to go to another gateway, and has not come back since. */
  isSentAway = false;
  /** Waits to be settled. */
  isTouched = false;
  readonly #returned = new ReturnedAttempts();
  readonly #questions = new Questions();
  #tookBackAtMs = Number.NEGATIVE_INFINITY;
  readonly #shared: Surroundings;
  readonly #connectedAt: EpochMs;
  #heartbeatAt: EpochMs;
  #loopLagMs = 0;
  #resendAskedAtMs = Number.NEGATIVE_INFINITY;
  #resendWaitMs = RESEND_AFTER_MS;

  constructor(profile: WorkerProfile, shared: Surroundings) {
    this.profile = profile;
    this.credits = new Credits(capacityOf(profile));
    this.pulse = { heardAtMs: shared.runtime.monotonicMs(), brokenAtMs: null };
    this.#shared = shared;
    this.#connectedAt = shared.runtime.now();
    this.#heartbeatAt = this.#connectedAt;
    for (const owner of shared.owners.all) this.openAccount(owner);
  }

  /** Slots that nothing occupies. */
  get free(): number {
    return Math.max(0, this.profile.slots - this.held.occupied);
  }

  /** Connected, willing, and reading what it is sent. */
  get takesWork(): boolean {
    return this.link !== null && !this.isDraining && !this.link.isCongested();
  }

  // ---- from owners --------------------------------------------------------------------------------------------------

  /** Credits of the former account become free, and the gateway delivers no more assignments under it. */
  openAccount(owner: Incarnation): void {
    this.credits.open(owner, this.#shared.nextAccount());
  }

  /**
   * Delivers it, or answers that it was not delivered; a token that was answered so is never delivered later. Drops an
   * assignment of an older account, a repeated one, and one whose credit was declared void: the owner sees in the roll
   * which numbers came.
   */
  assign(owner: Incarnation, assignment: Assignment): void {
    const account = this.credits.account(owner);
    if (account?.number !== assignment.account || !account.use(assignment.credit)) return;
    account.usedAtMs = this.#shared.runtime.monotonicMs();
    const known = this.held.get(assignment.executionId, assignment.attempt);
    // Sent twice under different numbers: the answer comes from the worker.
    if (known !== null && known.state !== "OVER") return;
    if (known !== null || !this.takesWork) return this.return(assignment);
    this.#shared.counters.assignsSent++;
    const { shard, executionId, attempt, handler } = assignment;
    const token = { shard, executionId, attempt };
    const [sentAtMs, askable] = [account.usedAtMs, this.#questions.next];
    this.held.add({ token, handler, state: "ASSIGNED", startedAt: null, sentAtMs, askable });
    this.outgoing.assigns.push(assignOf(assignment));
  }

  /** Answers that it was not delivered. */
  return(token: Token): void {
    const { counters, news, owners, runtime } = this.#shared;
    counters.assignsReturned++;
    const released = releasedOf(token, this.profile.workerId, runtime.now());
    this.#returned.add(released, runtime.monotonicMs());
    news.finished(owners.of(token.shard), released);
  }

  /** These numbers will not come: their slots are free. */
  void(owner: Incarnation, account: number, credits: readonly number[]): void {
    const open = this.credits.account(owner);
    if (open?.number !== account) return;
    let isFreed = false;
    for (const credit of credits) if (open.use(credit)) isFreed = true;
    const nowMs = this.#shared.runtime.monotonicMs();
    if (isFreed) open.usedAtMs = nowMs;
    if (isFreed && nowMs - open.recalledAtMs < DECLINED_MS) open.decline(nowMs);
  }

  cancel(token: Token, reason: "REQUESTED" | "TIMED_OUT", graceMs: number): void {
    const held = this.held.get(token.executionId, token.attempt);
    if (held === null || held.state === "FINISHED" || held.state === "OVER") return;
    this.outgoing.cancels.push(cancelOf(held.token, reason, graceMs));
  }

  acknowledge(token: Token): void {
    const held = this.held.get(token.executionId, token.attempt);
    if (held !== null) this.held.settle(held, held.stillRunning);
    this.#returned.delete(token);
    this.#resendWaitMs = RESEND_AFTER_MS;
    this.outgoing.acks.push(wireTokenOf(token));
  }

  /** The attempt counts for nobody from now on. Its slot is free once the worker says that the handler has ended. */
  refuse(token: Token): void {
    const held = this.held.get(token.executionId, token.attempt);
    if (held !== null) this.held.settle(held, this.isAuthority && (held.state !== "FINISHED" || held.stillRunning));
    this.#returned.delete(token);
    this.#shared.counters.refused++;
    this.outgoing.refused.push(wireTokenOf(token));
  }

  /** An owner has another worker with a free slot for these: the worker hands back what it has not started. */
  takeBack(tokens: readonly Token[]): void {
    const nowMs = this.#shared.runtime.monotonicMs();
    if (!this.isAuthority || this.link === null || nowMs - this.#tookBackAtMs < TAKE_BACK_EVERY_MS) return;
    // With a free slot the worker is about to start them.
    if (this.held.running + this.held.stuck < this.profile.slots) return;
    const waiting = tokens.filter((token) => this.held.get(token.executionId, token.attempt)?.state === "ASSIGNED");
    if (waiting.length === 0) return;
    this.#tookBackAtMs = nowMs;
    this.outgoing.takeBack.push(...waiting.map(wireTokenOf));
  }

  /** The owner wants the worker's own word on what it holds, under the epochs that this gateway knows by now. */
  askFor(owner: Incarnation): void {
    if (this.isAuthority && this.link !== null) this.#questions.want(owner);
    else this.introduceTo(owner);
  }

  // ---- from the worker ----------------------------------------------------------------------------------------------

  receive(message: WorkerMessage): void {
    for (const started of message.started) this.#started(started);
    for (const finished of message.finished) this.#finished(finished);
    for (const { executionId, attempt } of message.ended) {
      const held = this.held.get(executionId, attempt);
      if (held !== null) this.held.end(held);
    }
    if (message.holds !== undefined) hearHolds(this, this.#questions, message.holds, this.#shared);
    if (message.heartbeat !== undefined) {
      this.#heartbeatAt = this.#shared.runtime.now();
      this.#loopLagMs = message.heartbeat.loopLagMs;
    }
  }

  #started(news: Started): void {
    const token = this.#tokenOf(news);
    if (token === null) return;
    const held = this.held.get(token.executionId, token.attempt);
    const startedAt = instantOf(news.startedAtMs) ?? this.#shared.runtime.now();
    if (held !== null) {
      this.held.advance(held, "STARTED");
      held.startedAt ??= startedAt;
    }
    this.#shared.counters.started++;
    const { shard, executionId, attempt } = token;
    const { workerId } = this.profile;
    this.#shared.news.started(this.#shared.owners.of(shard), { shard, executionId, attempt, workerId, startedAt });
  }

  #finished(news: Finished): void {
    const token = this.#tokenOf(news);
    if (token === null) return;
    this.#shared.counters.finished++;
    const { owners, runtime } = this.#shared;
    const finished = finishedOf(news, token, this.profile.workerId, runtime.now());
    const held = this.held.get(token.executionId, token.attempt);
    // The worker does not have it, and may not say so again.
    if (news.outcome === Outcome.RELEASED) {
      this.held.delete(token);
      this.#returned.add(finished, runtime.monotonicMs());
    } else if (held !== null) {
      // A result that comes again was logged when it came first.
      if (held.state !== "FINISHED") this.#shared.failures.add(finished, held.handler);
      this.finish(held, news.stillRunning);
    }
    this.#shared.news.finished(owners.of(token.shard), finished);
  }

  finish(held: Held, stillRunning = false): void {
    if (held.state !== "FINISHED") held.finishedAtMs = this.#shared.runtime.monotonicMs();
    this.held.advance(held, "FINISHED", stillRunning);
  }

  /** The token as this gateway knows it: a worker's word on the shard counts only for what is not known here. */
  #tokenOf(news: Started | Finished): Token | null {
    if (news.token === undefined) return null;
    const known = this.held.get(news.token.executionId, news.token.attempt);
    if (known !== null) return known.token;
    const token = tokenOf(news.token);
    // Nobody can have assigned it, so nobody would ever acknowledge it.
    if (token === null) this.outgoing.refused.push(news.token);
    return token;
  }

  // ---- to owners ----------------------------------------------------------------------------------------------------

  /**
   * Tells the owner all of this worker that concerns it; its credit follows when the session is settled. Nothing while it
   * is away: it may be at another gateway with more than is known of here.
   * @param isAnswer the worker itself has said so, under the owner's present epochs
   */
  introduceTo(owner: Incarnation, isAnswer = false): void {
    const { news, owners } = this.#shared;
    const account = this.credits.account(owner);
    if (account === undefined || this.link === null) return;
    const { profile: worker, connection } = this;
    const term = owners.termOf(owner);
    const holds = this.#holdsOf(owner);
    news.tell(owner, { kind: "WORKER_UP", term, worker, connection, account: account.number, holds, isAnswer });
    if (this.isDraining) news.tell(owner, { kind: "WORKER_DRAINING", workerId: worker.workerId });
    account.told = 0;
  }

  /** For the roll. null: the owner has no account. */
  creditOf(owner: Incarnation): Credit | null {
    const account = this.credits.account(owner);
    if (account === undefined) return null;
    const { number, granted, highest } = account;
    const { workerId } = this.profile;
    const { stuck } = this.held;
    return { workerId, account: number, granted, highest, missing: account.missing(), free: this.free, stuck };
  }

  holdsAnyOf(shards: ReadonlySet<ShardId>): boolean {
    for (const { token } of this.held) if (shards.has(token.shard)) return true;
    return false;
  }

  #holdsOf(owner: Incarnation): HeldAttempt[] {
    const holds: HeldAttempt[] = [];
    for (const { token, startedAt, state } of this.held) {
      if (state !== "OVER" && this.#shared.owners.of(token.shard) === owner) holds.push({ ...token, startedAt });
    }
    return holds;
  }

  /**
   * Lends what has become free, and sends what has been gathered.
   * @returns whether an owner waits for slots that others were lent and do not use
   */
  settle(isLending: boolean): boolean {
    const isRecalling = isLending && this.takesWork && this.#lend();
    const { news } = this.#shared;
    for (const [owner, account] of this.credits.accounts()) {
      if (account.told !== account.granted) news.credit(owner, this.profile.workerId, account);
    }
    // A worker that ends waits for the last of its results to be acknowledged.
    if (this.outgoing.isUrgent || this.isDraining || this.isAsking) this.send();
    return isRecalling;
  }

  #lend(): boolean {
    const { owners, demands, news, runtime } = this.#shared;
    const { workerId, pool } = this.profile;
    const claims = demands.of(pool);
    const nowMs = runtime.monotonicMs();
    this.credits.lend(takersOf(this.credits, owners.all, claims, nowMs), this.#taken, nowMs);
    if (claims.length === 0) return false;
    return recallFor(this.credits, claims, nowMs, (owner, account) => news.recall(owner, workerId, account));
  }

  /** Where handlers that do not end have every slot, nothing that waits would ever begin. */
  get #taken(): number {
    const capacity = capacityOf(this.profile);
    return this.held.stuck < this.profile.slots ? takenOf(this.held, capacity) : capacity;
  }

  /** Sends everything gathered, urgent or not. */
  send(): void {
    const { owners, runtime } = this.#shared;
    // A question tells of all that leaves with it and before it.
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

  /** Nothing that was asked over the connection before is answered any more. */
  disconnect(): void {
    this.link = null;
    this.#questions.clear();
  }

  /** Asks for attempts that should have begun. A worker that speaks and does not answer is disconnected. */
  chaseStarts(nowMs: number): void {
    if (this.link === null) return;
    if (this.#questions.isIgnored(nowMs, this.pulse.heardAtMs)) {
      return this.link.close("ABORTED", "this worker does not say what it holds; it may connect again");
    }
    if (this.isAuthority) this.#questions.doubt(this.held, nowMs);
  }

  /** Says again, and has said again, of what the word or the answer to it seems to be lost. */
  chaseResults(nowMs: number): void {
    if (!this.#returned.isEmpty) this.#sayReturned(nowMs);
    if (this.link === null || this.held.unacknowledged === 0) return;
    if (nowMs - this.#resendAskedAtMs < this.#resendWaitMs || !this.held.hasResultOf(nowMs - RESEND_AFTER_MS)) return;
    this.askForResults();
    this.#resendWaitMs = Math.min(2 * this.#resendWaitMs, RESEND_WAIT_MAX_MS);
  }

  /** This process was held up: neither the worker nor the owners can be blamed for silence. */
  restart(nowMs: number): void {
    restartPulse(this.pulse, nowMs);
    this.#resendAskedAtMs = nowMs;
  }

  #sayReturned(nowMs: number): void {
    const { news, owners } = this.#shared;
    for (const returned of this.#returned.overdue(nowMs)) news.finished(owners.of(returned.shard), returned);
  }

  /** If there are any that nobody acknowledged. */
  askForResults(): void {
    if (this.held.unacknowledged === 0) return;
    this.#resendAskedAtMs = this.#shared.runtime.monotonicMs();
    this.outgoing.resendResults = true;
  }

  status(): WorkerStatus {
    return {
      ...this.profile,
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
