import type { WorkerMessage } from "@mainspring/proto";
import type { WorkerId } from "../domain/ids.ts";
import type { WorkerStatus } from "../ports/messages.ts";
import { chatterOf, logChatter } from "./chatter.ts";
import { DeadWorkers } from "./dead-workers.ts";
import type { Greeting } from "./hello.ts";
import { HEARTBEAT_INTERVAL_MS } from "./limits.ts";
import type { Link } from "./link.ts";
import { lossReason, restartPulse } from "./liveness.ts";
import { serverMessage } from "./outgoing.ts";
import { isSameProcess, reconcile } from "./reattach.ts";
import { Session, type Surroundings } from "./session.ts";

/** The workers of a gateway: how they come, what they say, how they go. */
export class Fleet {
  readonly #shared: Surroundings;
  readonly #sessions = new Map<WorkerId, Session>();
  readonly #dead: DeadWorkers;
  #touched: Session[] = [];
  #isLending = true;

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

  /** Workers that were lost lately and are not back. */
  dead(): WorkerStatus[] {
    return this.#dead.list();
  }

  stopLending(): void {
    this.#isLending = false;
  }

  // ---- how they come ------------------------------------------------------------------------------------------------

  /** Makes the link the worker's connection, in place of any it had. */
  attach(link: Link, greeting: Greeting): void {
    const session = this.#sessionFor(greeting);
    const before = session.link;
    if (before !== null) {
      this.disconnect(session);
      before.close("ABORTED", "a newer connection of the same worker took over");
    }
    this.#shared.counters.workersConnected++;
    link.session = session;
    session.link = link;
    session.pulse.brokenAtMs = null;
    reconcile(session, greeting.holds, this.#shared);
    for (const owner of this.#shared.owners.all) session.introduceTo(owner);
    this.touch(session);
    const { workerId, name, pool } = session.profile;
    this.#shared.log.info({ workerId, name, pool, held: session.held.size }, "a worker connected");
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
    this.#shared.log.info({ workerId, held: session.held.size }, "a worker is draining");
    const { news, owners } = this.#shared;
    for (const owner of owners.all) news.tell(owner, { kind: "WORKER_DRAINING", workerId });
  }

  // ---- how they go --------------------------------------------------------------------------------------------------

  disconnect(session: Session): void {
    session.link = null;
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
      this.#shared.log.info({ workerId }, "a worker left");
      return this.#forget(session, "it left");
    }
    this.#shared.log.info({ workerId, held: session.held.size }, "the connection of a worker ended");
  }

  judgeLiveness(nowMs: number): void {
    for (const session of this.#sessions.values()) {
      const reason = lossReason(session.pulse, nowMs);
      if (reason !== null) this.#lose(session, reason);
    }
  }

  /** After this process was held up: nobody can be blamed for silence. */
  restartPulses(nowMs: number): void {
    for (const session of this.#sessions.values()) restartPulse(session.pulse, nowMs);
  }

  #lose(session: Session, reason: string): void {
    const { workerId } = session.profile;
    this.#shared.counters.workersLost++;
    this.#shared.log.warn({ workerId, reason, held: session.held.size }, "a worker is lost");
    this.#dead.add(session.status());
    this.#forget(session, reason);
  }

  #forget(session: Session, reason: string): void {
    const { workerId } = session.profile;
    this.#sessions.delete(workerId);
    const { news, owners } = this.#shared;
    // What it said before it was lost is said before.
    news.flush();
    for (const owner of owners.all) news.tell(owner, { kind: "WORKER_LOST", workerId, reason });
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

  /** Says every credit again, and looks again whether there is something to lend. */
  repeatCredits(): void {
    for (const session of this.#sessions.values()) {
      for (const owner of this.#shared.owners.all) session.tellCredit(owner);
      this.touch(session);
    }
  }

  /** Sends what came of all that was just read, up and down. A connection may answer while it is sent to. */
  settle(): void {
    this.#shared.talk.flush();
    this.#shared.news.flush();
    const touched = this.#touched;
    this.#touched = [];
    for (const session of touched) {
      session.isTouched = false;
      if (this.#sessions.get(session.profile.workerId) === session) session.settle(this.#isLending);
    }
  }
}
