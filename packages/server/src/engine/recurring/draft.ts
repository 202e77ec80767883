import { type Changeover, readTzdataTag, tzdataTag } from "../../domain/changeover.ts";
import type { EpochMs, ExecutionId, JobId } from "../../domain/ids.ts";
import { idTimeMs, occurrenceId } from "../../domain/occurrence-id.ts";
import { type CatchUp, type Plan, type RecurrenceRule, type SkipReason, scheduleOf } from "../../domain/recurrence.ts";
import { nextFire } from "../../domain/schedule/fires.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import { SkipRuns } from "./skip-runs.ts";

/** Facts about a recurring job whose plan is to move on. */
export interface PlanFacts {
  jobId: JobId;
  createdAt: EpochMs;
  /** Version of the job's present definition. */
  version: number;
  rule: RecurrenceRule;
  schedule: Schedule;
  plan: Plan;
  /** Executions that the plan names and that are not final. */
  open: ReadonlySet<ExecutionId>;
  /** When `plan.previous` ended; null: not known, or it has not. */
  endedAt: EpochMs | null;
}

/** Budget that is left for one step. Shared by the plans that move on together. */
export interface Budget {
  births: number;
  /** Planned instants that are worked out. */
  instants: number;
}

/** A planned instant that becomes an execution. */
export interface Fire {
  id: ExecutionId;
  plannedAt: EpochMs;
  trigger: "SCHEDULE" | "BACKFILL";
}

/** An instant that waited for so long is made up for: the partition of its time may be gone. */
const OLD_MS = 24 * 3_600_000;

/**
 * A plan on its way to the next state, with all that its instants become. Pure: `now` and the changeovers come from
 * outside.
 */
export class PlanDraft {
  readonly facts: PlanFacts;
  /** Schedule that makes the plan at the moment: the former one until an edit is applied. */
  rule: RecurrenceRule;
  schedule: Schedule;
  readonly plan: Plan;
  readonly open: Set<ExecutionId>;
  readonly now: EpochMs;
  /** Changeovers of the time zone data, in order. */
  readonly changeovers: readonly Changeover[];
  readonly budget: Budget;
  readonly fires: Fire[] = [];
  readonly skips = new SkipRuns();
  endedAt: EpochMs | null;
  /** Where the next instant was before a changeover moved it; null: none has. */
  movedFrom: EpochMs | null = null;
  /** The budget ended before the work did. */
  more = false;

  constructor(facts: PlanFacts, now: EpochMs, changeovers: readonly Changeover[], budget: Budget) {
    this.facts = facts;
    this.rule = facts.rule;
    this.plan = { ...facts.plan };
    this.schedule = this.#dated(facts.schedule);
    this.open = new Set(facts.open);
    this.endedAt = facts.endedAt;
    this.now = now;
    this.changeovers = changeovers;
    this.budget = budget;
  }

  /** Goes on by another rule: the job's own now, or one that an edit replaced. */
  goBy(rule: RecurrenceRule): void {
    const { facts } = this;
    if (rule === this.rule) return;
    this.rule = rule;
    this.schedule = this.#dated(rule === facts.rule ? facts.schedule : scheduleOf(rule, facts.jobId, facts.createdAt));
  }

  /** Goes on by another version of the time zone data. */
  goByData(changeover: Changeover): void {
    this.plan.tzdata = tzdataTag(changeover);
    this.schedule = this.#dated(this.schedule);
  }

  /** The schedule by the time zone data that the plan goes by. */
  #dated(schedule: Schedule): Schedule {
    if (schedule.times.type !== "CRON") return schedule;
    return { ...schedule, tzdata: readTzdataTag(this.plan.tzdata).version };
  }

  /** Notes that there is more to do where there is no room for it. */
  hasRoom(): boolean {
    if (this.budget.births > 0 && this.budget.instants > 0) return true;
    this.more = true;
    return false;
  }

  get isPreviousOpen(): boolean {
    return this.plan.previous !== null && this.open.has(this.plan.previous);
  }

  /** An execution that counts for overlap is not final. A backfill has a limit of its own. */
  get isBusy(): boolean {
    return this.isPreviousOpen || this.openCatchUps().length > 0;
  }

  /** Executions of misfired instants that are not final. */
  openCatchUps(): ExecutionId[] {
    const misfired = this.plan.catchUps.filter(({ trigger }) => trigger === "SCHEDULE");
    return misfired.flatMap(({ open }) => open.filter((id) => this.open.has(id)));
  }

  /** Lets an instant run, wait or be skipped, as the execution before it demands. */
  judge(at: EpochMs, isMisfired: boolean): void {
    const { plan } = this;
    const { overlap } = this.rule;
    if (overlap === "ALLOW" || !this.isBusy) return this.fireNext(at, isMisfired);
    if (overlap === "SKIP" || (overlap === "BUFFER_ONE" && plan.bufferedAt !== null)) return this.skip(at, "OVERLAP");
    if (plan.bufferedAt === null) this.skips.interrupt();
    else this.skip(plan.bufferedAt, "OVERLAP");
    plan.bufferedAt = at;
  }

  /** @param isMisfired it is made up for: its id is of now */
  fireNext(at: EpochMs, isMisfired: boolean): void {
    const { previous } = this.plan;
    if (previous !== null) this.open.delete(previous);
    this.plan.previous = this.fire(at, "SCHEDULE", isMisfired);
    this.endedAt = null;
  }

  fire(at: EpochMs, trigger: Fire["trigger"], isMadeUp: boolean): ExecutionId {
    const timeMs = isMadeUp || at < this.now - OLD_MS ? this.now : at;
    const id = occurrenceId(this.facts.jobId, at, timeMs);
    this.fires.push({ id, plannedAt: at, trigger });
    this.open.add(id);
    this.skips.interrupt();
    this.budget.births--;
    if (trigger === "SCHEDULE") this.plan.fired++;
    if (this.isUsedUp) this.plan.nextFireAt = null;
    return id;
  }

  skip(at: EpochMs, reason: SkipReason): void {
    this.skips.add(at, reason);
  }

  get isUsedUp(): boolean {
    const { maxFires } = this.schedule;
    return maxFires !== null && this.plan.fired >= maxFires;
  }

  get isFixedDelay(): boolean {
    return isFixedDelay(this.schedule);
  }

  /** Plans what follows an instant that is accounted for. With a fixed delay it depends on the end of what has fired. */
  planAfter(at: EpochMs): void {
    const { schedule } = this;
    if (!this.isFixedDelay) this.plan.nextFireAt = nextFire(schedule, at, this.plan.fired);
    else if (this.isPreviousOpen) this.plan.nextFireAt = null;
    else this.plan.nextFireAt = nextFire(schedule, this.now, this.plan.fired);
  }

  /** Up to here all was accounted for before this draft, as far as the plan tells, whatever another owner's clock said. */
  get accountedUntil(): EpochMs {
    const { previous, bufferedAt } = this.facts.plan;
    return Math.max(previous === null ? 0 : idTimeMs(previous), bufferedAt ?? 0);
  }

  putCatchUp(catchUp: CatchUp): void {
    const others = this.plan.catchUps.filter(({ id }) => id !== catchUp.id);
    this.plan.catchUps = [...others, catchUp];
  }

  /** Nothing is planned any more. */
  finish(): void {
    const { plan } = this;
    if (plan.state !== "ACTIVE" || plan.nextFireAt !== null || plan.bufferedAt !== null) return;
    if (plan.catchUps.length > 0 || (this.isFixedDelay && this.isPreviousOpen && !this.isUsedUp)) return;
    plan.state = "FINISHED";
  }

  get isChanged(): boolean {
    const { plan } = this.facts;
    return (Object.keys(plan) as (keyof Plan)[]).some((key) => plan[key] !== this.plan[key]);
  }
}

export function isFixedDelay({ times }: Schedule): boolean {
  return times.type === "INTERVAL" && times.mode === "FIXED_DELAY";
}
