import {
  FireCount,
  Instant,
  LedgerBody,
  type LedgerItemBody,
  NextFiresBody,
  pageQuery,
  Uuid,
} from "@mainspring/contract";
import { PAGE_ITEMS_DEFAULT } from "@mainspring/contract/limits";
import { type Static, Type } from "typebox";
import { inForceAt } from "../../domain/changeover.ts";
import type { EpochMs, JobId } from "../../domain/ids.ts";
import { type RecurrenceRule, scheduleOf } from "../../domain/recurrence.ts";
import { localTextOf, type PreviewedFire, previewFires } from "../../domain/schedule/preview.ts";
import type { Schedule } from "../../domain/schedule/schedule.ts";
import { scheduleWords } from "../../domain/schedule/words/schedule-words.ts";
import { ledgerStart } from "../../ports/ledger-page.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { JobView, Page } from "../../ports/store-queries.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import type { Turns } from "../../ports/turns.ts";
import type { TenantStore, TenantStores } from "../../security/tenant-stores.ts";
import type { ExecutionReader } from "../executions/execution-reader.ts";
import { decodeCursor, encodeCursor } from "../http/cursor.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { formatInstant, formatInstantOrNull, INSTANT_MAX, parseInstant } from "../http/instants.ts";
import { tenantOfCaller } from "../http/security.ts";
import { latenessOf } from "../views.ts";
import { accountedUntil } from "./accounted-until.ts";
import type { JobPlans } from "./job-plans.ts";
import { type Account, accountsOf, missedSince, type Range, rangesOf } from "./ledger.ts";
import { fireBody, plannedFireAt } from "./plan-views.ts";

export interface LedgerDependencies {
  plans: JobPlans;
  stores: Pick<TenantStores, "of">;
  reader: ExecutionReader;
  runtime: Runtime;
  /** Retention of final executions, in days. */
  retentionDays: number;
  zones: TimeZoneRules;
  turns: Turns;
}

/** Largest number of MISSED instants of a page that are checked again; normally there are none. */
const DOUBTS_MAX = 20;
const closed = { additionalProperties: false } as const;
const params = Type.Object({ jobId: Uuid("the recurring job") });
const LedgerQuery = Type.Object(
  {
    since: Type.Optional(Instant("planned at or after; default: all that is kept")),
    until: Type.Optional(Instant("planned before; default: now")),
    ...pageQuery,
  },
  closed,
);
const tags = ["jobs"];

/** Routes GET /v1/jobs/{jobId}/ledger and /v1/jobs/{jobId}/next-fires */
export function ledgerRoutes(app: HttpApp, deps: LedgerDependencies): void {
  ledgerRoute(app, deps);
  nextFiresRoute(app, deps);
}

function ledgerRoute(app: HttpApp, deps: LedgerDependencies): void {
  const { plans, runtime, zones, retentionDays, turns } = deps;
  const schema = {
    operationId: "getJobLedger",
    tags,
    summary:
      "List the outcome of every planned instant of a recurring job: it ran, waits, was skipped and why, or was missed",
    params,
    querystring: LedgerQuery,
    response: { 200: answer(LedgerBody, "A page, newest first"), ...problems("not-found", "wrong-state") },
  };
  app.get("/v1/jobs/:jobId/ledger", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const { params, query } = request;
    const tenant = tenantOfCaller(request);
    const { queries } = deps.stores.of(tenant);
    const job = await plans.read(tenant, params.jobId.toLowerCase());
    const rule = ruleOf(job);
    const now = runtime.now();
    const { since, until } = rangeOf(query, now);
    const after = decodeCursor("ledger", query.cursor);
    const page = { after, limit: query.limit ?? PAGE_ITEMS_DEFAULT };
    const { items, next } = await readPage(queries, deps.reader, job, since, until, page);
    const stretch = {
      since: next === null ? since : (items.at(-1)?.plannedAt ?? since),
      until: ledgerStart(until, after).executions,
      items,
    };
    const known = { keptDays: retentionDays, changeovers: zones.changeovers() };
    const judge = (ranges: Range[]) => turns.run(() => accountsOf(job, rule, { ...stretch, ranges }, now, known));
    const accounts = await judgedTwice(queries, job.jobId, judge);
    return {
      items: accounts.map((account) => itemBody(account, rule, zones)),
      nextCursor: encodeCursor("ledger", next),
      accountedUntil: formatInstantOrNull(await accountedUntil(job, rule, now, queries)),
      missedSince: formatInstantOrNull(missedSince(job, now, known)),
    };
  });
}

/**
 * Checks each instant again before the ledger reports it as MISSED, because it may belong to a range of skipped
 * instants on another page. A range that is found this way also accounts for adjacent instants.
 */
async function judgedTwice(
  queries: Pick<TenantStore["queries"], "ledger">,
  jobId: JobId,
  judge: (ranges: Range[]) => Promise<Account[]>,
): Promise<Account[]> {
  const ranges: Range[] = [];
  const doubted = new Set<EpochMs>();
  for (;;) {
    const accounts = await judge(ranges);
    const next = accounts.findLast(({ outcome, from }) => outcome === "MISSED" && !doubted.has(from));
    if (next === undefined || doubted.size >= DOUBTS_MAX) return accounts;
    doubted.add(next.from);
    const { items } = await queries.ledger(jobId, next.from, next.to + 1, { after: null, limit: 100 });
    ranges.push(...rangesOf(items));
  }
}

/** Reads a page. The state of an execution that is not final comes from its owner, which knows more than the row. */
async function readPage(
  queries: Pick<TenantStore["queries"], "ledger">,
  reader: ExecutionReader,
  job: JobView,
  since: EpochMs,
  until: EpochMs,
  page: Page,
) {
  const { items, next } = await queries.ledger(job.jobId, since, until, page);
  const executions = items.flatMap((item) => ("execution" in item ? item.execution : []));
  const live = new Map((await reader.overlay(executions)).map((execution) => [execution.executionId, execution]));
  const overlaid = items.map((item) => {
    if (!("execution" in item)) return item;
    return { ...item, execution: live.get(item.execution.executionId) ?? item.execution };
  });
  return { items: overlaid, next };
}

function nextFiresRoute(app: HttpApp, { plans, runtime, turns }: LedgerDependencies): void {
  const schema = {
    operationId: "getNextFires",
    tags,
    summary: "The schedule of a recurring job in words, its next fires, and what clock changes do to them",
    params,
    querystring: Type.Object({ count: Type.Optional(FireCount) }, closed),
    response: { 200: answer(NextFiresBody, "Its next fires"), ...problems("not-found", "wrong-state") },
  };
  app.get("/v1/jobs/:jobId/next-fires", { schema, config: { scope: "jobs:read" } }, async (request) => {
    const job = await plans.read(tenantOfCaller(request), request.params.jobId.toLowerCase());
    const schedule = scheduleOf(ruleOf(job), job.jobId, job.createdAt);
    const { fires, words } = await turns.run(() => ({
      fires: nextFires(job, schedule, runtime.now(), request.query.count ?? 10),
      words: scheduleWords(schedule),
    }));
    return { state: job.state, words, fires: fires.map(fireBody) };
  });
}

function nextFires(job: JobView, schedule: Schedule, now: EpochMs, count: number): PreviewedFire[] {
  const nextFireAt = plannedFireAt(job);
  const { state, version, plan } = job;
  // After an edit, the plan has yet to follow; it will do so from the present on.
  if (state === "ACTIVE" && plan?.version !== version) return previewFires(schedule, now, plan?.fired ?? 0, count);
  if (nextFireAt === null) return [];
  const { times } = schedule;
  // With a fixed delay, only the plan knows the next instant.
  if (times.type === "INTERVAL" && times.mode === "FIXED_DELAY") {
    return [{ at: nextFireAt, local: localTextOf(times, nextFireAt), note: null }];
  }
  return previewFires(schedule, Math.min(now, nextFireAt - 1), plan?.fired ?? 0, count);
}

function rangeOf({ since, until }: Static<typeof LedgerQuery>, now: EpochMs): { since: EpochMs; until: EpochMs } {
  // The schema has accepted these texts.
  const from = since === undefined ? 0 : (parseInstant(since) as EpochMs);
  const to = until === undefined ? Math.min(now + 1, INSTANT_MAX) : (parseInstant(until) as EpochMs);
  if (from < to) return { since: from, until: to };
  throw new ProblemError(invalid([{ field: "until", message: "must be later than since" }]));
}

function itemBody(account: Account, { times }: RecurrenceRule, zones: TimeZoneRules): LedgerItemBody {
  const { from, to, count, outcome, reason, execution, isLate } = account;
  return {
    at: formatInstant(from),
    // Local time by the rules that were in force at the instant.
    local: localTextOf(times, from, inForceAt(zones.changeovers(), from)?.version),
    outcome,
    ...(execution !== null && { run: runBody(execution, isLate) }),
    ...(reason !== null && { reason }),
    ...(count > 1 && { until: formatInstant(to), count }),
  };
}

function runBody(execution: NonNullable<Account["execution"]>, late: boolean) {
  const { executionId, trigger, state, startedAt } = execution;
  const latenessMs = latenessOf(execution);
  return { executionId, trigger, state, startedAt: formatInstantOrNull(startedAt), latenessMs, late };
}

function ruleOf({ definition }: JobView): RecurrenceRule {
  // The job has a plan, so it recurs.
  return definition.recurrence as RecurrenceRule;
}
