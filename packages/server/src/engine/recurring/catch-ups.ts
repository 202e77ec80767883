import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import type { CatchUp } from "../../domain/recurrence.ts";
import { type Occurrences, occurrences } from "../../domain/schedule/fires.ts";
import { plannedInstants } from "../../domain/schedule/planned.ts";
import type { PlanDraft } from "./draft.ts";

/** Planned instants of a range of a backfill that have an execution already. */
export interface FiredBefore {
  catchUpId: string;
  since: EpochMs;
  until: EpochMs;
  /** null: the answer has not arrived yet. */
  instants: Set<EpochMs> | null;
}

/** A read that a backfill needs before it can continue. */
export type FiredQuestion = Omit<FiredBefore, "instants">;

/** Planned instants that a backfill asks about in one read. */
const CHUNK = 1_000;

/**
 * Fires as many instants of each catch-up as its limit allows, and removes catch-ups that are complete.
 * @returns the read that a backfill needs before it continues; null: none
 */
export function continueCatchUps(draft: PlanDraft, before: FiredBefore | null): FiredQuestion | null {
  let question: FiredQuestion | null = null;
  for (const catchUp of draft.plan.catchUps) {
    const run = new CatchUpRun(draft, catchUp, before);
    run.goOn();
    question ??= run.question;
  }
  return question;
}

class CatchUpRun {
  readonly #draft: PlanDraft;
  readonly #catchUp: CatchUp;
  readonly #before: FiredBefore | null;
  readonly #open: ExecutionId[];
  #nextAt: EpochMs;
  question: FiredQuestion | null = null;

  constructor(draft: PlanDraft, catchUp: CatchUp, before: FiredBefore | null) {
    this.#draft = draft;
    this.#catchUp = catchUp;
    this.#before = before?.catchUpId === catchUp.id ? before : null;
    this.#open = catchUp.open.filter((id) => draft.open.has(id));
    this.#nextAt = catchUp.nextAt;
  }

  goOn(): void {
    const catchUp = this.#catchUp;
    const { plan } = this.#draft;
    while (this.#nextAt < catchUp.until && this.#mayGoOn() && this.#draft.hasRoom()) {
      this.#account(this.#nextAt);
      this.#draft.budget.instants--;
      this.#nextAt = this.#planned(this.#nextAt + 1, 1).instants[0] ?? catchUp.until;
    }
    if (this.#nextAt >= catchUp.until && this.#open.length === 0) {
      plan.catchUps = plan.catchUps.filter(({ id }) => id !== catchUp.id);
    } else if (this.#nextAt !== catchUp.nextAt) {
      this.#draft.putCatchUp({ ...catchUp, nextAt: Math.min(this.#nextAt, catchUp.until), open: this.#open });
    }
  }

  /**
   * Planned instants from `since` on. A backfill may cover several versions of the time zone data; misfired instants
   * were planned by a single version.
   */
  #planned(since: EpochMs, limit: number): Occurrences {
    const { schedule, trigger, until } = this.#catchUp;
    if (trigger === "SCHEDULE") return occurrences(schedule, since, until, limit);
    return plannedInstants(schedule, this.#draft.changeovers, since, until, limit);
  }

  #mayGoOn(): boolean {
    const { limit, trigger } = this.#catchUp;
    if (trigger === "BACKFILL") return this.#open.length < limit && this.#isKnown();
    if (this.#draft.isUsedUp) return true;
    if (this.#draft.plan.state === "PAUSED") return false;
    if (this.#open.length >= limit) return false;
    // Instants that are due now have precedence over earlier misfired ones.
    return this.#draft.rule.overlap === "ALLOW" || (!this.#draft.isBusy && this.#draft.plan.bufferedAt === null);
  }

  #account(at: EpochMs): void {
    const { trigger } = this.#catchUp;
    if (trigger === "SCHEDULE" && this.#draft.isUsedUp) return this.#draft.skip(at, "MISFIRE_LIMIT");
    if (trigger === "BACKFILL" && this.#hasExecution(at)) return;
    this.#open.push(this.#draft.fire(at, trigger, true));
  }

  #hasExecution(at: EpochMs): boolean {
    const { bufferedAt, catchUps } = this.#draft.plan;
    if (this.#draft.fires.some(({ plannedAt }) => plannedAt === at)) return true;
    const isMadeUpFor = catchUps.some((c) => c.trigger === "SCHEDULE" && c.nextAt <= at && at < c.until);
    return isMadeUpFor || bufferedAt === at || this.#before?.instants?.has(at) === true;
  }

  #isKnown(): boolean {
    const before = this.#before;
    if (before !== null && before.since <= this.#nextAt && this.#nextAt < before.until) {
      return before.instants !== null;
    }
    const { id, until } = this.#catchUp;
    const { instants, more } = this.#planned(this.#nextAt, CHUNK);
    this.#draft.budget.instants -= instants.length;
    this.question = { catchUpId: id, since: this.#nextAt, until: more ? (instants.at(-1) as EpochMs) + 1 : until };
    return false;
  }
}
