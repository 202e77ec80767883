import type { Finished, Started, WorkerMessage } from "@mainspring/proto";
import type { Logger } from "pino";
import type { EpochMs, Incarnation } from "../domain/ids.ts";
import type { Assignment, HeldAttempt, Token, WorkerProfile, WorkerStatus } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Counters } from "./counters.ts";
import { Credits } from "./credits.ts";
import { HeldAttempts } from "./held.ts";
import type { Link } from "./link.ts";
import type { Pulse } from "./liveness.ts";
import type { News } from "./news.ts";
import { Outgoing } from "./outgoing.ts";
import type { Owners } from "./owners.ts";
import type { Talk } from "./talk.ts";
import { assignOf, cancelOf, finishedOf, instantOf, releasedOf, tokenOf, wireTokenOf } from "./translate.ts";

/** What all sessions of a gateway share. */
export interface Surroundings {
  /** The gateway's incarnation. */
  node: Incarnation;
  runtime: Runtime;
  log: Logger;
  owners: Owners;
  news: News;
  counters: Counters;
  talk: Talk;
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
  isDraining = false;
  /** Waits to be settled. */
  isTouched = false;
  readonly #shared: Surroundings;
  readonly #connectedAt: EpochMs;
  #heartbeatAt: EpochMs;
  #loopLagMs = 0;

  constructor(profile: WorkerProfile, shared: Surroundings) {
    this.profile = profile;
    this.credits = new Credits(profile.slots + profile.prefetch);
    this.pulse = { heardAtMs: shared.runtime.monotonicMs(), brokenAtMs: null };
    this.#shared = shared;
    this.#connectedAt = shared.runtime.now();
    this.#heartbeatAt = this.#connectedAt;
  }

  /** Connected, willing, and reading what it is sent. */
  get takesWork(): boolean {
    return this.link !== null && !this.isDraining && !this.link.isCongested();
  }

  // ---- from owners --------------------------------------------------------------------------------------------------

  /** Delivers it, or answers that it was not delivered; a token that was answered so is never delivered later. */
  assign(owner: Incarnation, assignment: Assignment): void {
    const use = this.credits.use(owner, assignment.credit);
    // A repeat: the answer to it comes from the worker.
    if (this.held.get(assignment.executionId, assignment.attempt) !== null) return;
    if (use !== "TAKEN" || !this.takesWork) {
      this.#shared.counters.assignsReturned++;
      this.#shared.news.finished(owner, releasedOf(assignment, this.profile.workerId, this.#shared.runtime.now()));
      return;
    }
    this.#shared.counters.assignsSent++;
    const { shard, executionId, attempt } = assignment;
    this.held.add({ shard, executionId, attempt }, "ASSIGNED", null);
    this.outgoing.assigns.push(assignOf(assignment));
  }

  cancel(token: Token, reason: "REQUESTED" | "TIMED_OUT", graceMs: number): void {
    const held = this.held.get(token.executionId, token.attempt);
    if (held === null || held.state === "FINISHED") return;
    this.outgoing.cancels.push(cancelOf(held.token, reason, graceMs));
  }

  acknowledge(token: Token): void {
    this.held.delete(token);
    this.outgoing.acks.push(wireTokenOf(token));
  }

  /** Its slot is free at once: what still winds down there is not current and counts for nobody. */
  refuse(token: Token): void {
    this.held.delete(token);
    this.#shared.counters.refused++;
    this.outgoing.refused.push(wireTokenOf(token));
  }

  // ---- from the worker ----------------------------------------------------------------------------------------------

  receive(message: WorkerMessage): void {
    for (const started of message.started) this.#started(started);
    for (const finished of message.finished) this.#finished(finished);
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
    const held = this.held.get(token.executionId, token.attempt);
    if (held !== null) this.held.advance(held, "FINISHED");
    this.#shared.counters.finished++;
    const { owners, runtime } = this.#shared;
    this.#shared.news.finished(owners.of(token.shard), finishedOf(news, token, this.profile.workerId, runtime.now()));
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

  /** Tells the owner all of this worker that concerns it. */
  introduceTo(owner: Incarnation): void {
    const { news } = this.#shared;
    const { workerId } = this.profile;
    news.tell(owner, { kind: "WORKER_UP", worker: this.profile, holds: this.#holdsOf(owner) });
    if (this.isDraining) news.tell(owner, { kind: "WORKER_DRAINING", workerId });
    this.tellCredit(owner);
  }

  tellCredit(owner: Incarnation): void {
    const granted = this.credits.granted(owner);
    if (granted === 0) return;
    this.#shared.news.tell(owner, { kind: "CREDIT", workerId: this.profile.workerId, granted });
  }

  #holdsOf(owner: Incarnation): HeldAttempt[] {
    const holds: HeldAttempt[] = [];
    for (const { token, startedAt } of this.held) {
      if (this.#shared.owners.of(token.shard) === owner) holds.push({ ...token, startedAt });
    }
    return holds;
  }

  /** Lends what has become free, and sends what has been gathered. */
  settle(isLending: boolean): void {
    const { owners } = this.#shared;
    if (isLending && this.takesWork && this.credits.lend(owners.all, this.held.occupied)) {
      for (const owner of owners.all) this.tellCredit(owner);
    }
    if (this.outgoing.isEmpty) return;
    // What is not delivered is settled when the worker is back, by what it then says it holds.
    const { link } = this;
    if (link === null) return this.outgoing.clear();
    for (const message of this.outgoing.take()) link.send(message);
  }

  status(): WorkerStatus {
    return {
      ...this.profile,
      state: this.link === null ? "DISCONNECTED" : this.isDraining ? "DRAINING" : "ALIVE",
      running: this.held.running,
      connectedAt: this.#connectedAt,
      lastHeartbeatAt: this.#heartbeatAt,
      loopLagMs: this.#loopLagMs,
    };
  }
}
