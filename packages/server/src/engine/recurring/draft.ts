import { type Changeover, readTzdataTag, tzdataTag } from "../../domain/changeover.ts";
import type { EpochMs, ExecutionId, JobId } from "../../domain/ids.ts";
import { idTimeMs, occurrenceId } from "../../domain/occurrence-id.ts";
import { type CatchUp, type Plan, type RecurrenceRule, type SkipReason, scheduleOf } from "../../domain/recurrence.ts";
import { nextFire } from "../../domain/schedule/fires.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import { SkipRuns } from "./skip-runs.ts";

/** Facts about a recurring job whose plan advances. */
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
  /** Time at which `plan.previous` ended; null: not known, or not ended. */
  endedAt: EpochMs | null;
}

/** Remaining budget of one step, shared by all plans that advance in it. */
export interface Budget {
  created: number;
  /** Planned instants that may still be computed. */
  instants: number;
}

/** A planned instant that becomes an execution. */
export interface Fire {
  id: ExecutionId;
  plannedAt: EpochMs;
  trigger: "SCHEDULE" | "BACKFILL";
}

/**
 * Age in ms above which an instant's execution gets an id with the present time, because the partition for the
 * instant's own time may be gone.
 */
const OLD_MS = 24 * 3_600_000;

/**
 * A plan during its advance to the next state, with the outcomes of its instants. Pure: the caller passes `now` and the
 * changeovers.
 */
export class PlanDraft {
  readonly facts: PlanFacts;
  /** Rule and schedule that make the plan at the moment: the former ones until an edit is applied. */
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
  /** Next instant before a changeover moved it; null: no changeover has. */
  movedFrom: EpochMs | null = null;
  /** Whether the budget ended before the work did. */
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

  /** Makes the draft use another rule: the job's present rule, or one that an edit replaced. */
  useRule(rule: RecurrenceRule): void {
    const { facts } = this;
    if (rule === this.rule) return;
    this.rule = rule;
    this.schedule = this.#dated(rule === facts.rule ? facts.schedule : scheduleOf(rule, facts.jobId, facts.createdAt));
  }

  /** Makes the draft use another version of the time zone data. */
  goByData(changeover: Changeover): void {
    this.plan.tzdata = tzdataTag(changeover);
    this.schedule = this.#dated(this.schedule);
  }

  /** The schedule with the plan's version of the time zone data. */
  #dated(schedule: Schedule): Schedule {
    if (schedule.times.type !== "CRON") return schedule;
    return { ...schedule, tzdata: readTzdataTag(this.plan.tzdata).version };
  }

  /** Whether the budget has room. If not, the draft notes that there is more to do. */
  hasRoom(): boolean {
    if (this.budget.created > 0 && this.budget.instants > 0) return true;
    this.more = true;
    return false;
  }

  get isPreviousOpen(): boolean {
    return this.plan.previous !== null && this.open.has(this.plan.previous);
  }

  /**
   * Whether an execution that counts for overlap is not final. Executions of a backfill do not count, because a
   * backfill has its own limit.
   */
  get isBusy(): boolean {
    return this.isPreviousOpen || this.openCatchUps().length > 0;
  }

  /** Executions of misfired instants that are not final. */
  openCatchUps(): ExecutionId[] {
    const misfired = this.plan.catchUps.filter(({ trigger }) => trigger === "SCHEDULE");
    return misfired.flatMap(({ open }) => open.filter((id) => this.open.has(id)));
  }

  /** Fires, buffers or skips an instant, as the overlap rule demands while the previous execution runs. */
  judge(at: EpochMs, isMisfired: boolean): void {
    const { plan } = this;
    const { overlap } = this.rule;
    if (overlap === "ALLOW" || !this.isBusy) return this.fireNext(at, isMisfired);
    if (overlap === "SKIP" || (overlap === "BUFFER_ONE" && plan.bufferedAt !== null)) return this.skip(at, "OVERLAP");
    if (plan.bufferedAt === null) this.skips.interrupt();
    else this.skip(plan.bufferedAt, "OVERLAP");
    plan.bufferedAt = at;
  }

  /** @param isMisfired whether the instant fires late; the execution's id then has the present time */
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
    this.budget.created--;
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

  /**
   * Plans the instant after one that is accounted for. With a fixed delay, that depends on the end of the execution
   * that has fired.
   */
  planAfter(at: EpochMs): void {
    const { schedule } = this;
    if (!this.isFixedDelay) this.plan.nextFireAt = nextFire(schedule, at, this.plan.fired);
    else if (this.isPreviousOpen) this.plan.nextFireAt = null;
    else this.plan.nextFireAt = nextFire(schedule, this.now, this.plan.fired);
  }

  /**
   * Time up to which everything was accounted for before this draft, as far as the plan shows. An earlier owner's clock
   * may have been ahead of this one.
   */
  get accountedUntil(): EpochMs {
    const { previous, bufferedAt } = this.facts.plan;
    return Math.max(previous === null ? 0 : idTimeMs(previous), bufferedAt ?? 0);
  }

  putCatchUp(catchUp: CatchUp): void {
    const others = this.plan.catchUps.filter(({ id }) => id !== catchUp.id);
    this.plan.catchUps = [...others, catchUp];
  }

  /** Marks the plan as FINISHED if nothing is planned any more. */
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
