import type { Incarnation } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { FinishedAttempt, FromGateway, StartedAttempt } from "../ports/messages.ts";

/** News for owners, gathered while messages are read and sent together. */
export class News {
  readonly #bus: Bus;
  #started = new Map<Incarnation, StartedAttempt[]>();
  #finished = new Map<Incarnation, FinishedAttempt[]>();

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** @param owner null: nobody owns the shard now; the worker says it again when somebody does */
  started(owner: Incarnation | null, news: StartedAttempt): void {
    if (owner !== null) listOf(this.#started, owner).push(news);
  }

  /** @param owner as above */
  finished(owner: Incarnation | null, news: FinishedAttempt): void {
    if (owner !== null) listOf(this.#finished, owner).push(news);
  }

  /** Not gathered: it leaves before what is gathered. */
  tell(owner: Incarnation, message: FromGateway): void {
    this.#bus.send({ node: owner, role: "scheduler" }, message);
  }

  flush(): void {
    if (this.#started.size > 0) {
      const all = this.#started;
      this.#started = new Map();
      for (const [owner, tokens] of all) this.tell(owner, { kind: "STARTED", tokens });
    }
    if (this.#finished.size > 0) {
      const all = this.#finished;
      this.#finished = new Map();
      for (const [owner, results] of all) this.tell(owner, { kind: "FINISHED", results });
    }
  }
}

function listOf<T>(lists: Map<Incarnation, T[]>, owner: Incarnation): T[] {
  let list = lists.get(owner);
  if (list === undefined) {
    list = [];
    lists.set(owner, list);
  }
  return list;
}
