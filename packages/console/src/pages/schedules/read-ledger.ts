import type { JobBody, LedgerItemBody, SchedulePreviewBody } from "@mainspring/contract";
import type { Page } from "../../api/answers.ts";
import { ask, queryOf } from "../../api/client.ts";

/** Items of one request, and requests of one reading. */
const PAGE_ITEMS = 1_000;
const PAGES_MAX = 5;

export interface ReadLedger {
  items: LedgerItemBody[];
  /** Whether there are more items than the page reads. */
  isPart: boolean;
}

/**
 * Reads the ledger of a job between two times, up to 5,000 items.
 * @param until in milliseconds since 1970, not in the future; null: now
 * @throws {RequestFailed}
 */
export async function readLedger(jobId: string, since: string, until: string | undefined): Promise<ReadLedger> {
  const items: LedgerItemBody[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page++) {
    const query = queryOf({ since, until, cursor, limit: PAGE_ITEMS });
    const answer = await ask<Page<LedgerItemBody>>(`jobs/${jobId}/ledger${query}`);
    items.push(...answer.items);
    if (answer.nextCursor === null) return { items, isPart: false };
    cursor = answer.nextCursor;
  }
  return { items, isPart: true };
}

/** Number of planned instants, and whether there are more than the page has counted. */
export interface Counted {
  count: number;
  isPart: boolean;
}

/**
 * Counts the instants of a time for which a backfill creates executions: those of the schedule, also before the creation of the
 * job, without those that have an execution.
 * @param until in ISO 8601; left out: now
 * @throws {RequestFailed}
 */
export async function countNotRun(job: JobBody, since: string, until: string | undefined): Promise<Counted> {
  // The ledger checks both times.
  const ledger = await readLedger(job.jobId, since, until);
  const end = until === undefined ? Date.now() : Date.parse(until);
  const planned = await countPlanned(job, Date.parse(since), end);
  const run = ledger.items.filter(({ outcome }) => outcome === "RAN" || outcome === "WAITING").length;
  return { count: Math.max(0, planned.count - run), isPart: ledger.isPart || planned.isPart };
}

async function countPlanned(job: JobBody, sinceMs: number, untilMs: number): Promise<Counted> {
  const { startAt, endAt, everySec } = job;
  const from = Math.max(sinceMs, startAt === undefined ? 0 : Date.parse(startAt));
  const end = Math.min(untilMs, endAt === undefined ? untilMs : Date.parse(endAt));
  if (everySec !== undefined) {
    const first = Date.parse(startAt ?? job.createdAt);
    return { count: ticksBetween(first, everySec * 1_000, from, end), isPart: false };
  }
  let count = 0;
  let after = from - 1;
  for (let page = 0; page < PAGES_MAX; page++) {
    const { fires } = await ask<SchedulePreviewBody>("schedules/preview", {
      method: "POST",
      body: { ...scheduleFields(job), after: new Date(after).toISOString(), count: PAGE_ITEMS },
    });
    const within = fires.filter(({ at }) => Date.parse(at) < end);
    count += within.length;
    if (within.length < PAGE_ITEMS) return { count, isPart: false };
    after = Date.parse(within.at(-1)?.at ?? "");
  }
  return { count, isPart: true };
}

function scheduleFields({ schedule = "", timezone, dst }: JobBody): object {
  return { schedule, ...(timezone !== undefined && { timezone }), ...(dst !== undefined && { dst }) };
}

/** Number of instants first, first + every, … in [from, end). */
export function ticksBetween(first: number, every: number, from: number, end: number): number {
  const ticksBefore = (at: number) => Math.max(0, Math.ceil((at - first) / every));
  return Math.max(0, ticksBefore(end) - ticksBefore(from));
}
