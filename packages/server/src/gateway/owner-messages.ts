import type { Incarnation, ShardId, WorkerId } from "../domain/ids.ts";
import type { Assignment, ToGateway, Token } from "../ports/messages.ts";
import type { Fleet } from "./sessions/fleet.ts";
import type { GatewayContext, Session } from "./sessions/session.ts";
import { takeBack } from "./sessions/take-back.ts";

type OwnerAnnouncement = Extract<ToGateway, { kind: "OWNER" }>;

export type OwnerMessage = Extract<
  ToGateway,
  { kind: "OWNER" | "DEMAND" | "WHO" | "VOID" | "ASSIGN" | "CANCEL" | "TAKE_BACK" | "ACK" | "STEPPED" | "REFUSED" }
>;

/** Applies the messages of shard owners. */
export class OwnerMessages {
  readonly #fleet: Fleet;
  readonly #context: GatewayContext;

  constructor(fleet: Fleet, context: GatewayContext) {
    this.#fleet = fleet;
    this.#context = context;
  }

  receive(from: Incarnation, message: OwnerMessage): void {
    switch (message.kind) {
      case "OWNER":
        return this.#recordOwner(from, message);
      case "DEMAND":
        return this.#recordDemand(from, message);
      case "WHO":
        return this.#introduce(from, message);
      case "VOID":
        return this.#void(from, message);
      case "ASSIGN":
        for (const assignment of message.assigns) this.#assign(from, assignment);
        return;
      case "CANCEL": {
        const { reason, graceMs } = message;
        return this.#judge(from, message.workerId, [message.token], (session, token) =>
          session.cancel(token, reason, graceMs),
        );
      }
      case "TAKE_BACK":
        return this.#takeBack(from, message);
      case "ACK":
        return this.#judge(from, message.workerId, message.tokens, (session, token) => session.acknowledge(token));
      case "STEPPED":
        return this.#judge(from, message.workerId, message.steps, (session, step) => session.acknowledgeRecord(step));
      case "REFUSED":
        return this.#judge(from, message.workerId, message.tokens, (session, token) => session.refuse(token));
    }
  }

  #recordOwner(from: Incarnation, message: OwnerAnnouncement): void {
    const { reports, owners, demands } = this.#context;
    // Messages that were gathered earlier leave first.
    reports.flush();
    const { isNew, claimed, isForgetful, gone } = owners.record(from, message);
    for (const owner of gone) demands.forget(owner);
    if (gone.length > 0) {
      for (const session of this.#fleet.all()) {
        for (const owner of gone) session.credits.close(owner);
        this.#fleet.markChanged(session);
      }
    }
    this.#recordDemand(from, message);
    if (isNew) this.#introduceTo(from, claimed, isForgetful);
  }

  /**
   * Introduces workers to a new owner, because the former owner may have died before it had stored their reports. The
   * full sync is enough for workers that the new owner knows already and that hold nothing of its new shards: the owner
   * asks for a worker if it needs more.
   */
  #introduceTo(owner: Incarnation, claimed: ReadonlySet<ShardId>, isForgetful: boolean): void {
    for (const workerId of this.#fleet.deadIds()) this.#fleet.tellLoss(owner, workerId);
    for (const session of this.#fleet.all()) {
      const isUnknown = isForgetful || session.credits.account(owner) === undefined;
      if (!isUnknown && !session.holdsAnyOf(claimed)) continue;
      if (isUnknown) session.openAccount(owner);
      session.introduceTo(owner);
      session.askForResults();
      this.#fleet.markChanged(session);
    }
    if (!isForgetful) this.#fleet.sendFullSync(owner);
  }

  #recordDemand(from: Incarnation, { term, demand }: Pick<OwnerAnnouncement, "term" | "demand">): void {
    const { owners, demands, runtime } = this.#context;
    // The message is from an earlier term, or from a node that owns no shards now.
    if (term !== owners.termOf(from) || !owners.all.includes(from)) return;
    const changed = demands.record(from, demand, runtime.monotonicMs());
    if (changed.size === 0) return;
    for (const session of this.#fleet.all()) if (changed.has(session.profile.pool)) this.#fleet.markChanged(session);
  }

  /** Answers WHO: introduces workers that are connected here, and reports the others as absent. */
  #introduce(owner: Incarnation, { workerIds, askedAt }: Extract<ToGateway, { kind: "WHO" }>): void {
    const { reports, owners } = this.#context;
    if (!owners.all.includes(owner)) return;
    const absent: WorkerId[] = [];
    for (const workerId of workerIds) {
      const session = this.#fleet.get(workerId);
      if (session === undefined) absent.push(workerId);
      else {
        if (askedAt === undefined) session.introduceTo(owner);
        else session.askFor(owner);
        this.#fleet.markChanged(session);
      }
    }
    if (absent.length === 0) return;
    if (askedAt !== undefined) reports.tell(owner, { kind: "ABSENT", askedAt, workerIds: absent });
    else for (const workerId of absent) this.#tellAbsence(owner, workerId);
  }

  /** Reports an absent worker to an owner of the release before, which does not know ABSENT. */
  #tellAbsence(owner: Incarnation, workerId: WorkerId): void {
    if (this.#fleet.tellLoss(owner, workerId)) return;
    const reason = "its gateway does not know it";
    this.#context.reports.tell(owner, { kind: "WORKER_LOST", workerId, connection: 0, reason });
  }

  #takeBack(from: Incarnation, { workerId, tokens }: Extract<ToGateway, { kind: "TAKE_BACK" }>): void {
    const session = this.#fleet.get(workerId);
    if (session === undefined) return;
    const { owners, runtime } = this.#context;
    const own = tokens.filter(({ shard }) => owners.of(shard) === from);
    takeBack(session, own, runtime.monotonicMs());
    this.#fleet.markChanged(session);
  }

  #void(from: Incarnation, { workerId, account, credits }: Extract<ToGateway, { kind: "VOID" }>): void {
    const session = this.#fleet.get(workerId);
    if (session === undefined) return;
    session.void(from, account, credits);
    this.#fleet.markChanged(session);
  }

  #assign(from: Incarnation, assignment: Assignment): void {
    const { shard, epoch, gateway, workerId } = assignment;
    const { node, owners } = this.#context;
    // The assignment is for another incarnation of this gateway, or its owner was overtaken, so this gateway does not
    // answer.
    if (gateway !== node || !owners.isCurrent(shard, epoch)) return;
    const session = this.#fleet.get(workerId);
    // The worker may have taken the attempt to another gateway, so this gateway does not know what became of it.
    if (session === undefined) return;
    session.assign(from, assignment);
    this.#fleet.markChanged(session);
  }

  /** Applies a message about attempts. Only the owner of their shard may decide about them. */
  #judge<T extends Token>(
    from: Incarnation,
    workerId: WorkerId,
    tokens: readonly T[],
    apply: (session: Session, token: T) => void,
  ): void {
    const session = this.#fleet.get(workerId);
    if (session === undefined) return;
    for (const token of tokens) if (this.#context.owners.of(token.shard) === from) apply(session, token);
    this.#fleet.markChanged(session);
  }
}
