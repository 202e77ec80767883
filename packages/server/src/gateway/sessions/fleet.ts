import { Feature, type WorkerMessage } from "@mainspring/proto";
import type { Incarnation, WorkerId } from "../../domain/ids.ts";
import type { Credit, WorkerStatus } from "../../ports/messages.ts";
import { chatterOf, logChatter } from "../chatter.ts";
import type { Greeting } from "../connections/hello.ts";
import type { Link } from "../connections/link.ts";
import { HEARTBEAT_INTERVAL_MS } from "../limits.ts";
import { DeadWorkers } from "./dead-workers.ts";
import { Farewell } from "./farewell.ts";
import { listedExecutions } from "./listed-executions.ts";
import { lossReason } from "./liveness.ts";
import { serverMessage } from "./outgoing.ts";
import { isOutdated, isSameProcess, reconcile } from "./reattach.ts";
import { Session, type Surroundings } from "./session.ts";

/** The workers of a gateway: how they come, what they say, how they go. */
export class Fleet {
  readonly #shared: Surroundings;
  readonly #sessions = new Map<WorkerId, Session>();
  readonly #dead: DeadWorkers;
  #touched: Session[] = [];
  /** Where owners were asked to give slots back. */
  #recalling = new Set<Session>();
  /** Since when acknowledgements wait for something else that goes to the worker; the oldest first. */
  readonly #acking = new Map<Session, number>();
  #isLending = true;
  /** null: its workers may stay. */
  #farewell: Farewell | null = null;

  constructor(shared: Surroundings) {
    this.#shared = shared;
    this.#dead = new DeadWorkers(shared.runtime);
  }

  get(workerId: WorkerId): Session | undefined {
    return this.#sessions.get(workerId);
  }

  all(): IterableIterator<Session> {
    return this.#sessions.values();
  }

  statuses(): WorkerStatus[] {
    const living = Array.from(this.#sessions.values(), (session) => session.status());
    return [...living, ...this.#dead.list()];
  }

  /** The worker with the attempts that it holds; empty: this gateway does not know the worker. */
  statusesOf(workerId: WorkerId): WorkerStatus[] {
    const session = this.#sessions.get(workerId);
    if (session !== undefined) return [{ ...session.status(), ...listedExecutions(session.held) }];
    const dead = this.#dead.list().filter((status) => status.workerId === workerId);
    return dead.map((status) => ({ ...status, ...listedExecutions([]) }));
  }

  /** Workers that went lately and are not back. */
  deadIds(): WorkerId[] {
    return this.#dead.ids();
  }

  /** Once more, of a worker that went lately. @returns whether there is such a worker */
  tellLoss(owner: Incarnation, workerId: WorkerId): boolean {
    const dead = this.#dead.get(workerId);
    if (dead === undefined) return false;
    const { connection, reason } = dead;
    this.#shared.news.tell(owner, { kind: "WORKER_LOST", workerId, connection, reason });
    return true;
  }

  stopLending(): void {
    this.#isLending = false;
  }

  /** From now on its workers are sent to other gateways, or are welcome again. */
  drainAll(isDraining: boolean): void {
    if (isDraining === (this.#farewell !== null)) return;
    this.#isLending = !isDraining;
    this.#farewell = isDraining ? new Farewell() : null;
    for (const session of this.#sessions.values()) this.touch(session);
  }

  /** Parts with some more, while all are to go. */
  sendSomeAway(nowMs: number): void {
    if (this.#farewell === null) return;
    for (const session of this.#farewell.next(this.#sessions.values(), nowMs)) {
      session.isSentAway = true;
      session.send();
      session.link?.close("UNAVAILABLE", "this server is being drained: go on at another one of its cluster");
    }
  }

  // ---- how they come ------------------------------------------------------------------------------------------------

  /** Makes the link the worker's connection, in place of any it had. */
  attach(link: Link, greeting: Greeting): void {
    const known = this.#sessions.get(greeting.profile.workerId);
    if (known !== undefined && isOutdated(known, greeting)) {
      return link.close("ABORTED", "a newer connection of the same worker was here before this one");
    }
    const session = this.#sessionFor(greeting);
    const wasElsewhere = session.connection !== 0 && greeting.connection > session.connection + 1;
    const before = session.link;
    if (before !== null) {
      this.disconnect(session);
      before.close("ABORTED", "a newer connection of the same worker took over");
    }
    this.#shared.counters.workersConnected++;
    link.session = session;
    session.link = link;
    session.isSentAway = false;
    session.isAuthority = greeting.isAuthority;
    session.connection = greeting.connection;
    session.pulse.brokenAtMs = null;
    reconcile(session, session.outgoing.unacknowledged(greeting.holds), this.#shared);
    for (const owner of this.#shared.owners.all) {
      // Owners that heard of it from another gateway in between have forgotten how far they had counted here.
      if (wasElsewhere) session.openAccount(owner);
      session.introduceTo(owner);
    }
    this.touch(session);
    const { workerId, name, pool } = session.profile;
    this.#shared.log.info({ workerId, name, pool, held: session.held.size }, "a worker connected to the gateway");
    // A worker in the same process may answer within this call, so all of the above is done before.
    this.#welcome(link);
    // The order may have been lost with the connection before.
    if (session.isDraining) session.outgoing.drain = true;
  }

  #sessionFor(greeting: Greeting): Session {
    const { workerId } = greeting.profile;
    const known = this.#sessions.get(workerId);
    if (known !== undefined) {
      if (isSameProcess(known, greeting)) return known;
      this.#lose(known, "another process took its id");
    }
    const session = new Session(greeting.profile, this.#shared);
    this.#sessions.set(workerId, session);
    this.#dead.delete(workerId);
    return session;
  }

  #welcome(link: Link): void {
    const { node, runtime } = this.#shared;
    const welcome = {
      $typeName: "mainspring.worker.v1.Welcome",
      heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS,
      gateway: node,
      nowMs: BigInt(runtime.now()),
      features: Feature.AUTHORITY,
    } as const;
    link.send(serverMessage({ welcome }));
  }

  // ---- what they say ------------------------------------------------------------------------------------------------

  receive(session: Session, message: WorkerMessage): void {
    session.pulse.heardAtMs = this.#shared.runtime.monotonicMs();
    session.receive(message);
    this.#hearChatter(session, message);
    if (message.draining && !session.isDraining) this.#drain(session);
    this.touch(session);
  }

  /** Only what the worker says of attempts that it holds. */
  #hearChatter(session: Session, message: WorkerMessage): void {
    if (message.progress.length + message.logs.length === 0) return;
    const { log, runtime, talk } = this.#shared;
    const { workerId } = session.profile;
    const items = chatterOf(message, runtime.now()).filter(
      ({ executionId, attempt }) => session.held.get(executionId, attempt) !== null,
    );
    logChatter(log, workerId, items);
    for (const item of items) talk.hear(item);
  }

  /** People want the worker to end. @returns what it is then; null: it is not known here */
  drain(workerId: WorkerId): WorkerStatus | null {
    const session = this.#sessions.get(workerId);
    if (session === undefined) return null;
    session.outgoing.drain = true;
    if (!session.isDraining) this.#drain(session);
    this.touch(session);
    return session.status();
  }

  /** For good: a process that drains ends. */
  #drain(session: Session): void {
    const { workerId } = session.profile;
    session.isDraining = true;
    this.#shared.log.info({ workerId, held: session.held.size }, "the gateway drains a worker: it gets no more work");
    const { news, owners } = this.#shared;
    for (const owner of owners.all) news.tell(owner, { kind: "WORKER_DRAINING", workerId });
  }

  // ---- how they go --------------------------------------------------------------------------------------------------

  disconnect(session: Session): void {
    session.disconnect();
    session.pulse.brokenAtMs = this.#shared.runtime.monotonicMs();
    this.#shared.counters.workersConnected--;
  }

  linkEnded(link: Link): void {
    const { session } = link;
    // A session that a newer connection took over, or that is lost, has nothing to do with this one any more.
    if (session?.link !== link) return;
    this.disconnect(session);
    const { workerId } = session.profile;
    if (session.isDraining && session.held.size === 0) {
      this.#shared.log.info({ workerId }, "a worker left the gateway");
      return this.#forget(session, "it left", true);
    }
    this.#shared.log.info(
      { workerId, held: session.held.size },
      "the connection of a worker ended; the gateway keeps its attempts until it reconnects",
    );
  }

  judgeLiveness(nowMs: number): void {
    for (const session of this.#sessions.values()) {
      const reason = lossReason(session.pulse, nowMs);
      if (reason === null) continue;
      // It is somewhere else, or is missed there. The gateway keeps the worker until then, because the worker still
      // hands back attempts that were just assigned to it.
      if (session.isSentAway) this.#forget(session, "it was sent to another gateway", true);
      else this.#lose(session, reason);
    }
  }

  /** After this process was held up: nobody can be blamed for silence. */
  restart(nowMs: number): void {
    for (const session of this.#sessions.values()) session.restart(nowMs);
  }

  #lose(session: Session, reason: string): void {
    const { workerId } = session.profile;
    this.#shared.counters.workersLost++;
    this.#shared.log.warn(
      { workerId, reason, held: session.held.size },
      "the gateway gave up a worker; its attempts run elsewhere",
    );
    this.#forget(session, reason, false);
  }

  #forget(session: Session, reason: string, hasLeft: boolean): void {
    const { connection, profile } = session;
    const { workerId } = profile;
    this.#sessions.delete(workerId);
    this.#recalling.delete(session);
    this.#acking.delete(session);
    this.#dead.add(session.status(), { connection, reason, hasLeft });
    const { news, owners } = this.#shared;
    // Reports of the worker from before its loss leave first.
    news.flush();
    for (const owner of owners.all) this.tellLoss(owner, workerId);
    const { link } = session;
    if (link === null) return;
    this.disconnect(session);
    link.close("ABORTED", `this worker was declared lost: ${reason}`);
  }

  // ---- what follows -------------------------------------------------------------------------------------------------

  /** Something changed: there may be slots to lend or messages to send. */
  touch(session: Session): void {
    if (session.isTouched) return;
    session.isTouched = true;
    this.#touched.push(session);
  }

  /** Tells every owner all that is lent to it, and looks again whether there is something to lend. */
  callRoll(): void {
    for (const owner of this.#shared.owners.all) this.tellRoll(owner);
    for (const session of this.#sessions.values()) this.touch(session);
  }

  /** All that is lent to it. */
  tellRoll(owner: Incarnation): void {
    const credits: Credit[] = [];
    for (const session of this.#sessions.values()) {
      const credit = session.creditOf(owner);
      if (credit !== null) credits.push(credit);
    }
    this.#shared.news.tellRoll(owner, credits);
  }

  chase(nowMs: number): void {
    for (const session of this.#sessions.values()) {
      session.chaseResults(nowMs);
      session.chaseStarts(nowMs);
      if (!session.outgoing.isEmpty || session.isAsking) this.touch(session);
    }
  }

  /** Whether owners were asked to give slots back for which another one waits. */
  get isRecalling(): boolean {
    return this.#recalling.size > 0;
  }

  /** They may not have heard it, or have become able to since. */
  recallAgain(): void {
    for (const session of this.#recalling) this.touch(session);
  }

  /** Sends what came of all that was just read, up and down. A connection may answer while it is sent to. */
  settle(): void {
    const { news, talk } = this.#shared;
    talk.flush();
    news.flush();
    const touched = this.#touched;
    this.#touched = [];
    for (const session of touched) {
      session.isTouched = false;
      if (this.#sessions.get(session.profile.workerId) === session) this.#settle(session);
    }
    // Credits leave after the results that made the slots free.
    news.flush();
  }

  #settle(session: Session): void {
    if (session.settle(this.#isLending)) this.#recalling.add(session);
    else this.#recalling.delete(session);
    if (session.outgoing.isEmpty) this.#acking.delete(session);
    else if (!this.#acking.has(session)) this.#acking.set(session, this.#shared.runtime.monotonicMs());
  }

  /** Whether acknowledgements wait. */
  get isAcking(): boolean {
    return this.#acking.size > 0;
  }

  /** Sends those that wait since then; workers that are away get theirs when they are back. */
  sendAcks(sinceMs: number): void {
    for (const [session, fromMs] of this.#acking) {
      if (fromMs > sinceMs) return;
      this.#acking.delete(session);
      session.send();
    }
  }
}
