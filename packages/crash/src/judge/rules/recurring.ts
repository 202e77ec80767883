import type { LedgerItem } from "@mainspring/sdk";
import type { Case } from "../case.ts";
import type { RecurringJob } from "../evidence.ts";
import { inTime, plannedInstants } from "../planned.ts";
import type { Rule } from "./rule.ts";

/** Each planned instant is in its job's ledger exactly once, as run or skipped, and nothing else is. */
export const fireInstantsAreAccountedFor: Rule = ({ evidence }) =>
  evidence.recurring.flatMap((job) => {
    const { required, allowed } = plannedInstants(job, evidence);
    const entries = entriesOf(job, allowed);
    const times = Map.groupBy(entries, ({ at }) => at);
    const unfinished = entries.filter(({ item }) => item.outcome !== "RAN" && item.outcome !== "SKIPPED");
    return [
      ...[...required].filter((at) => !times.has(at)).map((at) => `${nameOf(job, at)} is not in the ledger`),
      ...[...times].filter(([, { length }]) => length > 1).map(([at]) => `${nameOf(job, at)} is in the ledger twice`),
      ...[...times.keys()].filter((at) => !allowed.has(at)).map((at) => `${nameOf(job, at)} was never planned`),
      ...unfinished.map(({ at, item }) => `${nameOf(job, at)} is ${item.outcome}`),
      ...job.ledger
        .filter((item) => !countsRight(item, allowed))
        .map(({ at }) => `${job.name} miscounts from ${at} on`),
      ...twiceExecuted(job, evidence.executions),
    ];
  });

/** No fire starts early, by the handler's own clock. */
export const firesAreNotEarly: Rule = ({ evidence, runs }) =>
  fires(evidence.recurring).flatMap(({ job, at, executionId }) => {
    const began = beganAt(runs, executionId, evidence.wallClockZeroMs);
    if (began === null || began >= at - evidence.toleranceMs) return [];
    return [`${nameOf(job, at)} began ${Math.round(at - began)} ms too early`];
  });

/** A fire starts within the time of a busy machine and of outages. */
export const firesAreInTime: Rule = ({ evidence, runs }) =>
  fires(evidence.recurring).flatMap(({ job, at, executionId }) => {
    const began = beganAt(runs, executionId, evidence.wallClockZeroMs);
    if (began === null) return [`${nameOf(job, at)} is said to have run, and no handler began`];
    return began <= inTime(at, evidence) ? [] : [`${nameOf(job, at)} began ${Math.round(began - at)} ms late`];
  });

/** Every skip has a reason, and the reason can be true. */
export const skipsHaveReasons: Rule = ({ evidence }) =>
  evidence.recurring.flatMap((job) =>
    job.ledger.flatMap(({ at, until = at, outcome, reason = "no reason" }) => {
      if (outcome !== "SKIPPED") return [];
      const mayBePaused = job.pauses.some(({ askedAt }) => askedAt - evidence.toleranceMs <= Date.parse(until));
      const isTrue =
        reason === "PAUSED" ? mayBePaused : reason === "OVERLAP" ? job.overlap !== "ALLOW" : reason === "MISFIRE";
      return isTrue ? [] : [`${nameOf(job, Date.parse(at))} was skipped: ${reason}`];
    }),
  );

/** No instant fires that was planned while its job was paused. */
export const pausedJobsRest: Rule = ({ evidence }) =>
  fires(evidence.recurring).flatMap(({ job, at }) => {
    const isPaused = job.pauses.some(
      ({ answeredAt, resumedAt }) => at > inTime(answeredAt, evidence) && at < resumedAt - evidence.toleranceMs,
    );
    return isPaused ? [`${nameOf(job, at)} fired although the job was paused`] : [];
  });

/** Every instant in the ledger; for a range, the instants that the oracle knows, and the range's ends. */
function entriesOf({ ledger }: RecurringJob, planned: ReadonlySet<number>): { at: number; item: LedgerItem }[] {
  return ledger.flatMap((item) => stretchOf(item, planned).map((at) => ({ at, item })));
}

function stretchOf({ at, until = at }: LedgerItem, planned: ReadonlySet<number>): number[] {
  const [from, to] = [Date.parse(at), Date.parse(until)];
  if (from === to) return [from];
  return [...new Set([from, ...[...planned].filter((instant) => from < instant && instant < to), to])];
}

/**
 * Whether a range has the right count. A range may contain an edit, where more instants are allowed than were planned.
 */
function countsRight(item: LedgerItem, planned: ReadonlySet<number>): boolean {
  return (item.count ?? 1) <= stretchOf(item, planned).length;
}

/**
 * Instants with two executions. The ledger may show one of them, so the executions of each instant are counted in the
 * list.
 */
function twiceExecuted(job: RecurringJob, executions: Case["evidence"]["executions"]): string[] {
  const own = executions.filter(({ jobId }) => jobId === job.jobId);
  return [...Map.groupBy(own, ({ scheduledAt }) => Date.parse(scheduledAt))]
    .filter(([, { length }]) => length > 1)
    .map(([at, { length }]) => `${nameOf(job, at)} was executed ${length} times`);
}

function fires(jobs: readonly RecurringJob[]): { job: RecurringJob; at: number; executionId: string }[] {
  return jobs.flatMap((job) =>
    job.ledger.flatMap(({ at, outcome, run }) =>
      outcome === "RAN" && run !== undefined ? [{ job, at: Date.parse(at), executionId: run.executionId }] : [],
    ),
  );
}

/** Start of the execution's first handler, in milliseconds since 1970. */
function beganAt(runs: Case["runs"], executionId: string, wallClockZeroMs: number): number | null {
  const first = runs.get(executionId)?.[0];
  return first === undefined ? null : first.startedAt - wallClockZeroMs;
}

function nameOf({ name }: RecurringJob, at: number): string {
  return `${new Date(at).toISOString()} of ${name}`;
}
