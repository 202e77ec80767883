import { Feature, type WorkerMessage } from "@mainspring/proto";
import type { Incarnation, WorkerId } from "../../domain/ids.ts";
import { ownerOfPool } from "../../domain/pool.ts";
import type { Principal } from "../../ports/authenticator.ts";
import type { Credit, WorkerStatus } from "../../ports/messages.ts";
import type { Greeting } from "../connections/hello.ts";
import type { Link } from "../connections/link.ts";
import { handlerOutputOf, logHandlerOutput } from "../handler-output.ts";
import { HEARTBEAT_INTERVAL_MS } from "../limits.ts";
import type { LogKeeper } from "../logs/log-keeper.ts";
import type { SessionEnd } from "../worker-events.ts";
import { DeadWorkers } from "./dead-workers.ts";
import { DrainController } from "./drain-controller.ts";
import { listedExecutions } from "./listed-executions.ts";
import { lossReason } from "./liveness.ts";
import { serverMessage } from "./outgoing.ts";
import { isOutdated, isSameCaller, isSameProcess, reconcile } from "./reattach.ts";
import { type GatewayContext, Session } from "./session.ts";
import { shedAhead } from "./take-back.ts";

/** The workers of a gateway: their connections, their messages, and their end. */
export class Fleet {
  readonly #context: GatewayContext;
  /** null: the gateway keeps no log lines. */
  readonly #logs: LogKeeper | null;
  readonly #sessions = new Map<WorkerId, Session>();
  readonly #dead: DeadWorkers;
  #changed: Session[] = [];
  /** Sessions of workers whose credits owners were asked to give back. */
  #revoking = new Set<Session>();
  /** Time since which acknowledgements wait for another message to the worker, by session; the oldest first. */
  readonly #acking = new Map<Session, number>();
  #isAllocating = true;
  /** null: the gateway does not drain, so its workers may stay. */
  #drainController: DrainController | null = null;

  constructor(context: GatewayContext, logs: LogKeeper | null) {
    this.#context = context;
    this.#logs = logs;
    this.#dead = new DeadWorkers(context.runtime);
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

  /** Status of a worker with the attempts that it holds. Empty: this gateway does not know the worker. */
  statusesOf(workerId: WorkerId): WorkerStatus[] {
    const session = this.#sessions.get(workerId);
    if (session !== undefined) return [{ ...session.status(), ...listedExecutions(session.held) }];
    const dead = this.#dead.list().filter((status) => status.workerId === workerId);
    return dead.map((status) => ({ ...status, ...listedExecutions([]) }));
  }

  /** Workers that have gone recently and are not back. */
  deadIds(): WorkerId[] {
    return this.#dead.ids();
  }

  /** Repeats the report of a recent loss. @returns whether the worker has gone recently */
  tellLoss(owner: Incarnation, workerId: WorkerId): boolean {
    const dead = this.#dead.get(workerId);
    if (dead === undefined) return false;
    const { connection, reason } = dead;
    this.#context.reports.tell(owner, { kind: "WORKER_LOST", workerId, connection, reason });
    return true;
  }

  stopAllocating(): void {
    this.#isAllocating = false;
  }

  /** Starts or ends the draining of the gateway: its workers are sent to other gateways, or may stay. */
  drainAll(isDraining: boolean): void {
    if (isDraining === (this.#drainController !== null)) return;
    this.#isAllocating = !isDraining;
    this.#drainController = isDraining ? new DrainController() : null;
    for (const session of this.#sessions.values()) this.markChanged(session);
    if (isDraining) this.#logs?.flush();
  }

  /** Closes the log lines of attempts that have left their worker without a result. */
  pruneLogs(): void {
    this.#logs?.prune((workerId, { executionId, attempt }) => {
      const held = this.#sessions.get(workerId)?.held.get(executionId, attempt) ?? null;
      return held !== null && (held.state !== "FINISHED" || held.stillRunning);
    });
  }

  /** Sends some more workers away while the gateway drains. */
  sendSomeAway(nowMs: number): void {
    if (this.#drainController === null) return;
    for (const session of this.#drainController.next(this.#sessions.values(), nowMs)) {
      session.isSentAway = true;
      session.send();
      session.link?.close("UNAVAILABLE", "this server is being drained: go on at another one of its cluster");
    }
  }

  // ---- how they come ------------------------------------------------------------------------------------------------

  /** Makes the link the worker's connection, in place of an earlier one. */
  attach(link: Link, greeting: Greeting): void {
    const known = this.#sessions.get(greeting.profile.workerId);
    if (known !== undefined && !isSameCaller(known.principal, link.principal)) {
      return link.close(
        "PERMISSION_DENIED",
        "worker_id: a worker with another API key has this id: choose another one",
      );
    }
    if (known !== undefined && isOutdated(known, greeting)) {
      return link.close("ABORTED", "a newer connection of the same worker was here before this one");
    }
    const session = this.#sessionFor(greeting, link.principal);
    const wasElsewhere = session.connection !== 0 && greeting.connection > session.connection + 1;
    const before = session.link;
    if (before !== null) {
      this.disconnect(session);
      before.close("ABORTED", "a newer connection of the same worker took over");
    }
    this.#context.counters.workersConnected++;
    link.session = session;
    session.link = link;
    session.principal = link.principal;
    session.isSentAway = false;
    session.isAuthority = greeting.isAuthority;
    session.takesSteps = greeting.takesSteps;
    session.connection = greeting.connection;
    session.lastHeard.brokenAtMs = null;
    reconcile(session, session.outgoing.unacknowledged(greeting.holds), this.#context);
    for (const owner of this.#context.owners.all) {
      // Owners that the worker was introduced to by another gateway in between have forgotten their count of credits
      // here.
      if (wasElsewhere) session.openAccount(owner);
      session.introduceTo(owner);
    }
    this.markChanged(session);
    const { workerId, name, pool } = session.profile;
    this.#context.log.info({ workerId, name, pool, held: session.held.size }, "a worker connected to the gateway");
    // A worker in the same process may answer within this call, so all the steps above come first.
    this.#welcome(link);
    // The order to drain may have been lost with the former connection.
    if (session.isDraining) session.outgoing.drain = true;
  }

  #sessionFor(greeting: Greeting, principal: Principal | null): Session {
    const { workerId } = greeting.profile;
    const known = this.#sessions.get(workerId);
    if (known !== undefined) {
      if (isSameProcess(known, greeting)) return known;
      this.#lose(known, "another process took its id", "REPLACED");
    }
    const session = new Session(greeting.profile, this.#context, principal);
    session.told = this.#context.workerEvents?.registered(session.profile) ?? null;
    this.#sessions.set(workerId, session);
    this.#context.offers.add(session, greeting.declared);
    this.#dead.delete(workerId);
    return session;
  }

  #welcome(link: Link): void {
    const { node, runtime } = this.#context;
    const welcome = {
      $typeName: "mainspring.worker.v1.Welcome",
      heartbeatIntervalMs: HEARTBEAT_INTERVAL_MS,
      gateway: node,
      nowMs: BigInt(runtime.now()),
      features: Feature.AUTHORITY | Feature.STEPS,
    } as const;
    link.send(serverMessage({ welcome }));
  }

  // ---- what they say ------------------------------------------------------------------------------------------------

  receive(session: Session, message: WorkerMessage): void {
    session.lastHeard.heardAtMs = this.#context.runtime.monotonicMs();
    // The lines of an attempt come before its end, after which the worker may not have it any more.
    this.#relayOutput(session, message);
    session.receive(message);
    const owner = ownerOfPool(session.profile.pool);
    for (const { token } of message.finished) if (token !== undefined) this.#logs?.close(token, owner);
    if (message.draining && !session.isDraining) this.#drain(session);
    this.markChanged(session);
  }

  /** Relays handler output of attempts that the worker holds; other output is dropped. */
  #relayOutput(session: Session, message: WorkerMessage): void {
    if (message.progress.length + message.logs.length === 0) return;
    const { log, runtime, output } = this.#context;
    const { workerId, pool } = session.profile;
    const items = handlerOutputOf(message, runtime.now(), ownerOfPool(pool)).filter(
      ({ executionId, attempt }) => session.held.get(executionId, attempt) !== null,
    );
    logHandlerOutput(log, workerId, items);
    for (const item of items) {
      output.add(item);
      if (item.kind === "LOG") this.#logs?.add(item, workerId);
    }
  }

  /**
   * Drains a worker on request of the API.
   * @returns the worker's status; null: this gateway does not know the worker
   */
  drain(workerId: WorkerId): WorkerStatus | null {
    const session = this.#sessions.get(workerId);
    if (session === undefined) return null;
    session.outgoing.drain = true;
    if (!session.isDraining) this.#drain(session);
    this.markChanged(session);
    return session.status();
  }

  /** Marks the worker as draining, permanently, because a process that drains ends. */
  #drain(session: Session): void {
    const { workerId } = session.profile;
    session.isDraining = true;
    this.#context.offers.delete(session);
    this.#context.log.info({ workerId, held: session.held.size }, "the gateway drains a worker: it gets no more work");
    const { reports, owners } = this.#context;
    for (const owner of owners.all) reports.tell(owner, { kind: "WORKER_DRAINING", workerId });
  }

  // ---- how they go --------------------------------------------------------------------------------------------------

  disconnect(session: Session): void {
    session.disconnect();
    session.lastHeard.brokenAtMs = this.#context.runtime.monotonicMs();
    this.#context.counters.workersConnected--;
  }

  linkEnded(link: Link): void {
    const { session } = link;
    // The session has a newer connection, or its worker was lost, so the end of this link changes nothing.
    if (session?.link !== link) return;
    this.disconnect(session);
    const { workerId } = session.profile;
    if (session.isDraining && session.held.size === 0) {
      this.#context.log.info({ workerId }, "a worker left the gateway");
      return this.#forget(session, "it left", "LEFT");
    }
    this.#context.log.info(
      { workerId, held: session.held.size },
      "the connection of a worker ended; the gateway waits for it to connect again",
    );
  }

  judgeLiveness(nowMs: number): void {
    for (const session of this.#sessions.values()) {
      const reason = lossReason(session.lastHeard, nowMs);
      if (reason === null) continue;
      // The worker has connected to another gateway, or that one reports the loss. This gateway keeps the session until
      // then, because the worker still returns attempts that were just assigned to it.
      if (session.isSentAway) this.#forget(session, "it was sent to another gateway", "SENT_AWAY");
      else this.#lose(session, reason, session.link === null ? "CONNECTION_LOST" : "SILENT");
    }
  }

  /**
   * Restarts the clocks of all workers after this process was stalled, because its workers cannot be blamed for
   * silence.
   */
  restart(nowMs: number): void {
    for (const session of this.#sessions.values()) session.restart(nowMs);
  }

  #lose(session: Session, reason: string, end: SessionEnd): void {
    const { workerId } = session.profile;
    this.#context.counters.workersLost++;
    this.#context.log.warn(
      { workerId, reason, held: session.held.size },
      "the gateway gave up a worker; its attempts count as lost",
    );
    this.#forget(session, reason, end);
  }

  #forget(session: Session, reason: string, end: SessionEnd): void {
    const { workerId, pool } = session.profile;
    this.#sessions.delete(workerId);
    this.#context.offers.delete(session);
    this.#revoking.delete(session);
    this.#acking.delete(session);
    const hasLeft = end === "LEFT" || end === "SENT_AWAY";
    this.#dead.add(session.status(), { connection: session.connection, reason, hasLeft });
    this.#tellEnd(session, end);
    const { reports, owners } = this.#context;
    for (const { token } of session.held) this.#logs?.close(token, ownerOfPool(pool));
    // Reports that the worker sent before its loss leave first.
    reports.flush();
    for (const owner of owners.all) this.tellLoss(owner, workerId);
    const { link } = session;
    if (link === null) return;
    this.disconnect(session);
    link.close("ABORTED", `this worker was declared lost: ${reason}`);
  }

  /** Tells the ends of all sessions, because the gateway's server stops. */
  tellStop(): void {
    for (const session of this.#sessions.values()) this.#tellEnd(session, "SERVER_STOPPED");
  }

  #tellEnd(session: Session, end: SessionEnd): void {
    if (session.told !== null) this.#context.workerEvents?.dead(session.profile, session.told, end);
    session.told = null;
  }

  // ---- what follows -------------------------------------------------------------------------------------------------

  /** Marks a session whose slots or messages may have changed, so that `settle` handles it. */
  markChanged(session: Session): void {
    if (session.isMarked) return;
    session.isMarked = true;
    this.#changed.push(session);
  }

  /** Sends every owner a full sync of its credits, and checks every worker for free slots. */
  syncOwners(): void {
    for (const owner of this.#context.owners.all) this.sendFullSync(owner);
    for (const session of this.#sessions.values()) this.markChanged(session);
  }

  /** Sends an owner all its credits. */
  sendFullSync(owner: Incarnation): void {
    const credits: Credit[] = [];
    for (const session of this.#sessions.values()) {
      const credit = session.creditOf(owner);
      if (credit !== null) credits.push(credit);
    }
    this.#context.reports.sendFullSync(owner, credits);
  }

  chase(nowMs: number): void {
    for (const session of this.#sessions.values()) {
      session.chaseResults(nowMs);
      session.chaseStarts(nowMs);
      shedAhead(session, this.#context, nowMs);
      if (!session.outgoing.isEmpty || session.isAsking) this.markChanged(session);
    }
  }

  /** Whether some owner was asked to give back credits for which another one waits. */
  get isRevoking(): boolean {
    return this.#revoking.size > 0;
  }

  /**
   * Repeats requests to give credits back: a request may have been lost, or an owner can give credits back only now.
   */
  revokeAgain(): void {
    for (const session of this.#revoking) this.markChanged(session);
  }

  /** Sends all messages that result from the messages just handled, to owners and to workers. A connection may answer meanwhile. */
  settle(): void {
    const { reports, output } = this.#context;
    output.flush();
    reports.flush();
    const changed = this.#changed;
    this.#changed = [];
    for (const session of changed) {
      session.isMarked = false;
      if (this.#sessions.get(session.profile.workerId) === session) this.#settle(session);
    }
    // Credits are sent after the results that freed the slots.
    reports.flush();
  }

  #settle(session: Session): void {
    if (session.settle(this.#isAllocating)) this.#revoking.add(session);
    else this.#revoking.delete(session);
    if (session.outgoing.isEmpty) this.#acking.delete(session);
    else if (!this.#acking.has(session)) this.#acking.set(session, this.#context.runtime.monotonicMs());
  }

  /** Whether any acknowledgements wait to be sent. */
  get isAcking(): boolean {
    return this.#acking.size > 0;
  }

  /**
   * Sends acknowledgements that have waited since `sinceMs` or longer. A disconnected worker gets them when it is back.
   */
  sendAcks(sinceMs: number): void {
    for (const [session, fromMs] of this.#acking) {
      if (fromMs > sinceMs) return;
      this.#acking.delete(session);
      session.send();
    }
  }
}
