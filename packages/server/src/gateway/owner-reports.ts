import type { Incarnation, WorkerId } from "../domain/ids.ts";
import type { Bus } from "../ports/bus.ts";
import type { Credit, FinishedAttempt, FromGateway, StartedAttempt } from "../ports/messages.ts";
import type { ReportedStep } from "../ports/step-messages.ts";
import type { Account } from "./credits/credits.ts";
import { CREDITS_PER_MESSAGE } from "./limits.ts";
import type { Owners } from "./owners.ts";

type Revocation = Extract<FromGateway, { kind: "RECALL" }>["workers"][number];

const NONE: readonly number[] = [];

/** Reports for owners, collected while the gateway handles messages, and sent together. */
export class OwnerReports {
  readonly #bus: Bus;
  readonly #owners: Owners;
  #started = new Map<Incarnation, StartedAttempt[]>();
  #steps = new Map<Incarnation, ReportedStep[]>();
  #finished = new Map<Incarnation, FinishedAttempt[]>();
  #credits = new Map<Incarnation, Credit[]>();
  #revocations = new Map<Incarnation, Revocation[]>();

  constructor(bus: Bus, owners: Owners) {
    this.#bus = bus;
    this.#owners = owners;
  }

  /** @param owner null: the shard has no known owner now; the worker reports again when it has one */
  started(owner: Incarnation | null, report: StartedAttempt): void {
    if (owner !== null) listOf(this.#started, owner).push(report);
  }

  /** @param owner null: the shard has no known owner now; the worker reports again when it has one */
  stepped(owner: Incarnation | null, report: ReportedStep): void {
    if (owner !== null) listOf(this.#steps, owner).push(report);
  }

  /** @param owner null: the shard has no known owner now */
  finished(owner: Incarnation | null, report: FinishedAttempt): void {
    if (owner !== null) listOf(this.#finished, owner).push(report);
  }

  /** @param ahead null: the worker's prefetch is fixed */
  credit(owner: Incarnation, workerId: WorkerId, account: Account, ahead: number | null): void {
    const { number, granted, highest } = account;
    account.told = granted;
    const credit = { workerId, account: number, granted, highest, missing: NONE };
    listOf(this.#credits, owner).push(ahead === null ? credit : { ...credit, ahead });
  }

  /** Asks the owner to give back the credit of this worker that it cannot use. */
  revoke(owner: Incarnation, workerId: WorkerId, account: Account): void {
    listOf(this.#revocations, owner).push({ workerId, account: account.number });
  }

  /** Sends a message at once, before collected reports. */
  tell(owner: Incarnation, message: FromGateway): void {
    this.#bus.send({ node: owner, role: "scheduler" }, message);
  }

  /** Sends every credit of the owner, changed or not. */
  sendFullSync(owner: Incarnation, credits: readonly Credit[]): void {
    this.#tellCredits(owner, credits, true);
  }

  flush(): void {
    if (this.#started.size > 0) {
      const all = this.#started;
      this.#started = new Map();
      for (const [owner, tokens] of all) this.tell(owner, { kind: "STARTED", tokens });
    }
    if (this.#steps.size > 0) {
      const all = this.#steps;
      this.#steps = new Map();
      for (const [owner, steps] of all) this.tell(owner, { kind: "STEPS", steps });
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
    if (this.#revocations.size > 0) this.#flushRevocations();
  }

  #flushRevocations(): void {
    const all = this.#revocations;
    this.#revocations = new Map();
    for (const [owner, workers] of all) {
      this.tell(owner, { kind: "RECALL", term: this.#owners.termOf(owner), workers });
    }
  }

  #tellCredits(owner: Incarnation, credits: readonly Credit[], isFullSync: boolean): void {
    const term = this.#owners.termOf(owner);
    let from = 0;
    // An empty full sync is sent too: it says that this gateway has no workers.
    do {
      const part = credits.length <= CREDITS_PER_MESSAGE ? credits : credits.slice(from, from + CREDITS_PER_MESSAGE);
      this.tell(owner, { kind: "CREDITS", term, roll: isFullSync, credits: part });
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
