import type { Incarnation, WorkerId } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Credit, FinishedAttempt, FromGateway, StartedAttempt } from "../ports/messages.ts";
import type { Account } from "./lending/credits.ts";
import { CREDITS_PER_MESSAGE } from "./limits.ts";
import type { Owners } from "./owners.ts";

type Recalled = Extract<FromGateway, { kind: "RECALL" }>["workers"][number];

const NONE: readonly number[] = [];

/** News for owners, gathered while messages are read and sent together. */
export class News {
  readonly #bus: Bus;
  readonly #owners: Owners;
  #started = new Map<Incarnation, StartedAttempt[]>();
  #finished = new Map<Incarnation, FinishedAttempt[]>();
  #credits = new Map<Incarnation, Credit[]>();
  #recalls = new Map<Incarnation, Recalled[]>();

  constructor(bus: Bus, owners: Owners) {
    this.#bus = bus;
    this.#owners = owners;
  }

  /** @param owner null: nobody owns the shard now; the worker says it again when somebody does */
  started(owner: Incarnation | null, news: StartedAttempt): void {
    if (owner !== null) listOf(this.#started, owner).push(news);
  }

  /** @param owner as above */
  finished(owner: Incarnation | null, news: FinishedAttempt): void {
    if (owner !== null) listOf(this.#finished, owner).push(news);
  }

  credit(owner: Incarnation, workerId: WorkerId, account: Account): void {
    const { number, granted, highest } = account;
    account.told = granted;
    listOf(this.#credits, owner).push({ workerId, account: number, granted, highest, missing: NONE });
  }

  /** Asks for what the owner cannot use of the worker. */
  recall(owner: Incarnation, workerId: WorkerId, account: Account): void {
    listOf(this.#recalls, owner).push({ workerId, account: account.number });
  }

  /** Leaves at once, before gathered messages. */
  tell(owner: Incarnation, message: FromGateway): void {
    this.#bus.send({ node: owner, role: "scheduler" }, message);
  }

  /** Every credit of the owner, whether it changed or not. */
  tellRoll(owner: Incarnation, credits: readonly Credit[]): void {
    this.#tellCredits(owner, credits, true);
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
    if (this.#credits.size > 0) {
      const all = this.#credits;
      this.#credits = new Map();
      for (const [owner, credits] of all) this.#tellCredits(owner, credits, false);
    }
    if (this.#recalls.size > 0) this.#flushRecalls();
  }

  #flushRecalls(): void {
    const all = this.#recalls;
    this.#recalls = new Map();
    for (const [owner, workers] of all) {
      this.tell(owner, { kind: "RECALL", term: this.#owners.termOf(owner), workers });
    }
  }

  #tellCredits(owner: Incarnation, credits: readonly Credit[], roll: boolean): void {
    const term = this.#owners.termOf(owner);
    let from = 0;
    // An empty roll is sent too: it says that this gateway has no workers.
    do {
      const part = credits.length <= CREDITS_PER_MESSAGE ? credits : credits.slice(from, from + CREDITS_PER_MESSAGE);
      this.tell(owner, { kind: "CREDITS", term, roll, credits: part });
      from += CREDITS_PER_MESSAGE;
    } while (from < credits.length);
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
