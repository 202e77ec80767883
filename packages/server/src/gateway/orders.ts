import type { Incarnation, WorkerId } from "../domain/ids.ts";
import type { Assignment, ToGateway, Token } from "../ports/messages.ts";
import type { Fleet } from "./fleet.ts";
import type { Session, Surroundings } from "./session.ts";
import { releasedOf } from "./translate.ts";

export type OwnersOrder = Extract<ToGateway, { kind: "OWNER" | "ASSIGN" | "CANCEL" | "ACK" | "REFUSED" }>;

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
        return this.#recordOwner(from, message.shards);
      case "ASSIGN":
        for (const assignment of message.assigns) this.#assign(from, assignment);
        return;
      case "CANCEL": {
        const { reason, graceMs } = message;
        return this.#judge(from, message.workerId, [message.token], (session, token) =>
          session.cancel(token, reason, graceMs),
        );
      }
      case "ACK":
        return this.#judge(from, message.workerId, message.tokens, (session, token) => session.acknowledge(token));
      case "REFUSED":
        return this.#judge(from, message.workerId, message.tokens, (session, token) => session.refuse(token));
    }
  }

  #recordOwner(from: Incarnation, shards: Extract<ToGateway, { kind: "OWNER" }>["shards"]): void {
    const { news, owners } = this.#shared;
    // What was gathered before is said before.
    news.flush();
    const { isNew, gone } = owners.record(from, shards);
    const forgetful = isNew ? [from, ...gone] : gone;
    for (const session of this.#fleet.all()) for (const node of forgetful) session.credits.close(node);
    if (!owners.all.includes(from)) return;
    // The owner before may not have lived to write it down.
    for (const { workerId } of this.#fleet.dead()) {
      news.tell(from, { kind: "WORKER_LOST", workerId, reason: "it was lost before the owner took over" });
    }
    for (const session of this.#fleet.all()) {
      session.introduceTo(from);
      if (session.held.unacknowledged > 0) session.outgoing.resendResults = true;
      this.#fleet.touch(session);
    }
  }

  #assign(from: Incarnation, assignment: Assignment): void {
    const { shard, epoch, gateway, workerId } = assignment;
    const { node, owners, counters, news, runtime } = this.#shared;
    // Sent to another life of this gateway, or by an owner that was overtaken: it is not for this one to answer.
    if (gateway !== node || !owners.isCurrent(shard, epoch)) return;
    const session = this.#fleet.get(workerId);
    if (session === undefined) {
      counters.assignsReturned++;
      return news.finished(from, releasedOf(assignment, workerId, runtime.now()));
    }
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
