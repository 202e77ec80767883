import type { Incarnation, ShardId, WorkerId } from "../domain/ids.ts";
import type { Assignment, ToGateway, Token } from "../ports/messages.ts";
import type { Fleet } from "./sessions/fleet.ts";
import type { Session, Surroundings } from "./sessions/session.ts";

type OwnerNews = Extract<ToGateway, { kind: "OWNER" }>;

export type OwnersOrder = Extract<
  ToGateway,
  { kind: "OWNER" | "DEMAND" | "WHO" | "VOID" | "ASSIGN" | "CANCEL" | "TAKE_BACK" | "ACK" | "REFUSED" }
>;

/** Does what owners of shards say. */
export class Orders {
  readonly #fleet: Fleet;
  readonly #shared: Surroundings;

  constructor(fleet: Fleet, shared: Surroundings) {
    this.#fleet = fleet;
    this.#shared = shared;
  }

  obey(from: Incarnation, message: OwnersOrder): void {
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
      case "REFUSED":
        return this.#judge(from, message.workerId, message.tokens, (session, token) => session.refuse(token));
    }
  }

  #recordOwner(from: Incarnation, message: OwnerNews): void {
    const { news, owners, demands } = this.#shared;
    // Messages that were gathered earlier leave first.
    news.flush();
    const { isNew, claimed, isForgetful, gone } = owners.record(from, message);
    for (const owner of gone) demands.forget(owner);
    if (gone.length > 0) {
      for (const session of this.#fleet.all()) {
        for (const owner of gone) session.credits.close(owner);
        this.#fleet.touch(session);
      }
    }
    this.#recordDemand(from, message);
    if (isNew) this.#introduceTo(from, claimed, isForgetful);
  }

  /**
   * The owner before it may not have lived to write down what it was told. The roll is enough for workers that it knows
   * already and that hold nothing of its new shards: it asks for the workers of which it wants to know more.
   */
  #introduceTo(owner: Incarnation, claimed: ReadonlySet<ShardId>, isForgetful: boolean): void {
    for (const workerId of this.#fleet.deadIds()) this.#fleet.tellLoss(owner, workerId);
    for (const session of this.#fleet.all()) {
      const isUnknown = isForgetful || session.credits.account(owner) === undefined;
      if (!isUnknown && !session.holdsAnyOf(claimed)) continue;
      if (isUnknown) session.openAccount(owner);
      session.introduceTo(owner);
      session.askForResults();
      this.#fleet.touch(session);
    }
    if (!isForgetful) this.#fleet.tellRoll(owner);
  }

  #recordDemand(from: Incarnation, { term, demand }: Pick<OwnerNews, "term" | "demand">): void {
    const { owners, demands, runtime } = this.#shared;
    // Said before it took more over, or by one that owns nothing (any more).
    if (term !== owners.termOf(from) || !owners.all.includes(from)) return;
    const changed = demands.record(from, demand, runtime.monotonicMs());
    if (changed.size === 0) return;
    for (const session of this.#fleet.all()) if (changed.has(session.profile.pool)) this.#fleet.touch(session);
  }

  /** Workers that are here introduce themselves; of the others the owner hears that they are absent. */
  #introduce(owner: Incarnation, { workerIds, askedAt }: Extract<ToGateway, { kind: "WHO" }>): void {
    const { news, owners } = this.#shared;
    if (!owners.all.includes(owner)) return;
    const absent: WorkerId[] = [];
    for (const workerId of workerIds) {
      const session = this.#fleet.get(workerId);
      if (session === undefined) absent.push(workerId);
      else {
        if (askedAt === undefined) session.introduceTo(owner);
        else session.askFor(owner);
        this.#fleet.touch(session);
      }
    }
    if (absent.length === 0) return;
    if (askedAt !== undefined) news.tell(owner, { kind: "ABSENT", askedAt, workerIds: absent });
    else for (const workerId of absent) this.#tellAbsence(owner, workerId);
  }

  /** To an owner of the release before, which knows no other word for it. */
  #tellAbsence(owner: Incarnation, workerId: WorkerId): void {
    if (this.#fleet.tellLoss(owner, workerId)) return;
    const reason = "its gateway does not know it";
    this.#shared.news.tell(owner, { kind: "WORKER_LOST", workerId, connection: 0, reason });
  }

  #takeBack(from: Incarnation, { workerId, tokens }: Extract<ToGateway, { kind: "TAKE_BACK" }>): void {
    const session = this.#fleet.get(workerId);
    if (session === undefined) return;
    session.takeBack(tokens.filter(({ shard }) => this.#shared.owners.of(shard) === from));
    this.#fleet.touch(session);
  }

  #void(from: Incarnation, { workerId, account, credits }: Extract<ToGateway, { kind: "VOID" }>): void {
    const session = this.#fleet.get(workerId);
    if (session === undefined) return;
    session.void(from, account, credits);
    this.#fleet.touch(session);
  }

  #assign(from: Incarnation, assignment: Assignment): void {
    const { shard, epoch, gateway, workerId } = assignment;
    const { node, owners } = this.#shared;
    // Sent to another life of this gateway, or by an owner that was overtaken: it is not for this one to answer.
    if (gateway !== node || !owners.isCurrent(shard, epoch)) return;
    const session = this.#fleet.get(workerId);
    // It may have taken the attempt with it to another gateway, so nothing can be said of it here.
    if (session === undefined) return;
    session.assign(from, assignment);
    this.#fleet.touch(session);
  }

  /** Only a shard's own owner may speak about its attempts. */
  #judge(
    from: Incarnation,
    workerId: WorkerId,
    tokens: readonly Token[],
    apply: (session: Session, token: Token) => void,
  ): void {
    const session = this.#fleet.get(workerId);
    if (session === undefined) return;
    for (const token of tokens) if (this.#shared.owners.of(token.shard) === from) apply(session, token);
    this.#fleet.touch(session);
  }
}
