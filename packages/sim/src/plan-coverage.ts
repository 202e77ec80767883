import type { AppliedPlan, Committed } from "@mainspring/server/testing";

/** Events of recurring jobs that must occur in every campaign. */
export const PLANS_SOMETIMES = [
  "instant ran",
  "instant skipped: OVERLAP",
  "instant skipped: MISFIRE",
  "instant skipped: MISFIRE_LIMIT",
  "instant skipped: PAUSED",
  "instant waits for the one before",
  "execution superseded",
  "instants are caught up with",
  "instant backfilled",
  "fixed delay fired",
  "plan follows an edit",
  "plan paused",
  "plan resumed",
] as const;
/** The last three are counted but not required, because they need a rule, a zone or a race that few seeds have. */
type CoverageItem =
  | (typeof PLANS_SOMETIMES)[number]
  | "instant made up for after a gap"
  | "instant in both passes of a fold"
  | "plan missed";

type Created = Committed["born"][number];

const HOUR_MS = 3_600_000;

/** Counts what commits did to plans. */
export class PlanCoverage {
  /** Instants of jobs that must fire in both passes of a repeated hour. */
  readonly #fired = new Set<string>();

  seenIn({ outcome, planned, born, applied }: Committed): CoverageItem[] {
    const superseded = applied.filter(({ after }) => after.reason === "SUPERSEDED");
    return [
      ...outcome.missedPlans.map((): CoverageItem => "plan missed"),
      ...superseded.map((): CoverageItem => "execution superseded"),
      ...planned.flatMap(moved),
      ...born.flatMap((row) => this.#born(row)),
    ];
  }

  #born({ trigger, job }: Created): CoverageItem[] {
    if (trigger === "BACKFILL") return ["instant backfilled"];
    const { recurrence, scheduledAt: at } = job.definition;
    if (recurrence === null) return [];
    const { times } = recurrence;
    if (times.type === "INTERVAL")
      return times.mode === "FIXED_DELAY" ? ["instant ran", "fixed delay fired"] : ["instant ran"];
    const seen: CoverageItem[] = ["instant ran"];
    if (isFixedTime(times.cron) && recurrence.spreadSec === 0) {
      if (times.dst.gap === "SHIFT" && isMadeUp(times, at)) seen.push("instant made up for after a gap");
      if (times.dst.fold === "BOTH" && this.#isSecondPass(job.jobId, times.timezone, at)) {
        seen.push("instant in both passes of a fold");
      }
    }
    return seen;
  }

  #isSecondPass(jobId: string, timezone: string, at: number): boolean {
    this.#fired.add(`${jobId}@${at}`);
    return this.#fired.has(`${jobId}@${at - HOUR_MS}`) && wallOf(timezone, at) === wallOf(timezone, at - HOUR_MS);
  }
}

function moved({ before, after, skips }: AppliedPlan): CoverageItem[] {
  const [from, to] = [before.plan, after.plan];
  const seen: CoverageItem[] = skips.map(({ reason }): CoverageItem => `instant skipped: ${reason}`);
  if (to.bufferedAt !== null && from.bufferedAt === null) seen.push("instant waits for the one before");
  if (to.version > from.version) seen.push("plan follows an edit");
  if (to.state === "PAUSED" && from.state === "ACTIVE") seen.push("plan paused");
  if (to.state === "ACTIVE" && from.state === "PAUSED") seen.push("plan resumed");
  const isMisfired = (plan: typeof to) => plan.catchUps.some(({ trigger }) => trigger === "SCHEDULE");
  if (isMisfired(to) && !isMisfired(from)) seen.push("instants are caught up with");
  return seen;
}

function isFixedTime(cron: string): boolean {
  const fields = cron.split(" ");
  return fields.length === 5 && !/[*/]/.test(fields.slice(0, 2).join(""));
}

/** Whether a fire has a minute that the job's schedule does not have, which happens only after a gap. */
function isMadeUp({ cron, timezone }: { cron: string; timezone: string }, at: number): boolean {
  const [minutes = ""] = cron.split(" ");
  return !minutes.split(",").includes(String(Number(wallOf(timezone, at).slice(3))));
}

function wallOf(timezone: string, at: number): string {
  return new Intl.DateTimeFormat("en-GB", { timeZone: timezone, hour: "2-digit", minute: "2-digit" }).format(at);
}
