import { firstExecutionId, type JobId, SHARD_COUNT } from "../../../domain/ids.ts";
import { isRecurringJobId } from "../../../domain/recurrence.ts";
import type {
  ExecutionSummary,
  JobFilter,
  JobSummary,
  JobView,
  Listing,
  OverdueJob,
  Page,
  RecurringJob,
  StoreQueries,
} from "../../../ports/store-queries.ts";
import { behind, idBytes, idOf } from "../bytes.ts";
import type { Kind, Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { dueFlowNumbers, earliestDue } from "./due-lines.ts";
import { nameText, payloadOf } from "./job-changes.ts";
import { hasAllLabels, haveOpen, keyOf, readJobs, type StoredJob, stateOf } from "./job-rows.ts";
import { removedUntil } from "./ledger.ts";
import { EXAMINED, type Examined, newestOf, newestOfIndex, pageOf } from "./newest.ts";

/** Executions that the view of a job shows. */
const LATEST = 5;
/** Due plans that the search for overdue ones examines, and jobs that it reads at once. */
const LOOKED_AT = 10_000;
const PER_CALL = 250;
const ALL_SHARDS: ReadonlySet<number> = new Set(Array.from({ length: SHARD_COUNT }, (_, shard) => shard));
const NOBODY: Examined = { ids: [], isLast: true };

/** Reads of jobs for the api. */
export class JobLists implements Pick<StoreQueries, "getJob" | "listJobs" | "overdue" | "recurringJobs"> {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  async getJob(tenant: string, jobId: JobId): Promise<JobView | null> {
    const [job] = await readJobs(this.#db, this.#kinds, [jobId]);
    if (job == null || job.tenant !== tenant) return null;
    const [summary] = await this.#summaries([job]);
    const { definition } = job;
    const [payload, latestExecutions] = [await payloadOf(this.#db, job), await this.#latest(job)];
    const goneUntil = job.plan === null ? null : await removedUntil(this.#db);
    const history = goneUntil !== null && { historySince: goneUntil + 1 };
    return { ...(summary as JobSummary), definition, payload, latestExecutions, ...history };
  }

  /** Recurring jobs come first, because their ids are the highest. */
  async listJobs(tenant: string, filter: JobFilter, page: Page): Promise<Listing<JobSummary>> {
    const examined = await this.#examined(tenant, filter, page.after);
    const jobs = (await readJobs(this.#db, this.#kinds, examined.ids)).flatMap((job) => job ?? []);
    const items = (await this.#summaries(jobs)).filter((item) => item.tenant === tenant && isAsked(item, filter));
    return pageOf(items, page.limit, examined, ({ jobId }) => jobId);
  }

  async recurringJobs(after: JobId | null, limit: number): Promise<RecurringJob[]> {
    const from = after === null ? "-" : behind(idBytes(after));
    const [ids] = await this.#db.call([["ZRANGE", this.#db.key("jr"), from, "+", "BYLEX", "LIMIT", "0", `${limit}`]]);
    const jobs = await readJobs(
      this.#db,
      this.#kinds,
      (ids as Buffer[]).map((id) => idOf(id)),
    );
    return jobs.flatMap((job) => {
      const recurrence = job?.definition.recurrence ?? null;
      if (job === null || job.plan === null || recurrence === null) return [];
      const { jobId, tenant, version, createdAt, updatedAt, definition, plan } = job;
      const { name } = definition;
      return [{ jobId, tenant, name, version, createdAt, updatedAt, recurrence, plan: plan.plan }];
    });
  }

  async overdue(tenant: string | null, now: number, limit: number): Promise<OverdueJob[]> {
    const flows = await this.#kinds.flowsOf(await dueFlowNumbers(this.#db, now));
    const own = [...flows].filter(([, flow]) => tenant === null || flow.tenant === tenant).map(([number]) => number);
    const due = await earliestDue(this.#db, own, { until: now, own: ALL_SHARDS, limit: LOOKED_AT });
    const found: OverdueJob[] = [];
    for (let from = 0; from < due.length && found.length < limit; from += PER_CALL) {
      const ids = due.slice(from, from + PER_CALL).map(({ id }) => id);
      const jobs = await readJobs(this.#db, this.#kinds, ids);
      found.push(...jobs.flatMap((job) => (job === null ? [] : overdueOf(job, now))));
    }
    return found.slice(0, limit);
  }

  async #examined(tenant: string, { type, name }: JobFilter, after: string | null): Promise<Examined> {
    const mayRecur = type !== "ONCE" && (after === null || isRecurringJobId(after));
    const recurring = mayRecur ? await this.#byIndex(`jr${tenant}`, after, EXAMINED) : NOBODY;
    const isOnce = type === undefined || type === "ONCE";
    if (!isOnce || !recurring.isLast) return recurring;
    const max = EXAMINED - recurring.ids.length;
    if (max === 0) return { ids: recurring.ids, isLast: false };
    const from = after !== null && isRecurringJobId(after) ? null : after;
    const once =
      name === undefined
        ? await newestOf(this.#db, tenant, [{ letter: "x", listed: (id) => id }], { after: from, max })
        : await this.#byIndex(`mo${nameText(tenant, name)}`, from, max);
    return { ids: [...recurring.ids, ...once.ids], isLast: once.isLast };
  }

  async #byIndex(index: string, after: string | null, max: number): Promise<Examined> {
    const until = after === null ? "+" : behind(idBytes(after));
    return await newestOfIndex(this.#db, this.#db.key(index), { from: "-", until }, max);
  }

  async #summaries(jobs: readonly StoredJob[]): Promise<JobSummary[]> {
    const open = await haveOpen(this.#db, jobs);
    return jobs.map((job, i) => summaryOf(job, open[i] as boolean));
  }

  /** The newest executions of a job; of a recurring one those that were planned last. */
  async #latest({ jobId, plan }: StoredJob): Promise<ExecutionSummary[]> {
    const indexes = (plan === null ? ["lm"] : ["l", "lm"]).map((letter) => this.#db.key(keyOf(letter, jobId)));
    const answers = await this.#db.call(
      indexes.map((index) => ["ZRANGE", index, "+", "-", "BYLEX", "REV", "LIMIT", "0", `${LATEST}`]),
    );
    const members = answers.flatMap((answer) => answer as Buffer[]).sort((a, b) => Buffer.compare(b, a));
    const later = members.map((member) => idOf(member, 6));
    const ids = plan === null ? [...later, firstExecutionId(jobId)].sort((a, b) => (a > b ? -1 : 1)) : later;
    const rows = (await readRows(this.#db, ids)).filter((row) => row !== null).slice(0, LATEST);
    const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
    return rows.map((row) => row.summary(kinds.get(row.kind) as Kind));
  }
}

function overdueOf({ jobId, definition, plan: stored }: StoredJob, now: number): OverdueJob[] {
  const { name, recurrence } = definition;
  if (recurrence === null || stored === null) return [];
  const { state, nextFireAt } = stored.plan;
  const isOverdue = state === "ACTIVE" && nextFireAt !== null && nextFireAt + recurrence.misfireGraceMs < now;
  return isOverdue ? [{ jobId, name, nextFireAt }] : [];
}

function summaryOf(job: StoredJob, hasOpen: boolean): JobSummary {
  const { jobId, tenant, version, createdAt, updatedAt, definition, plan } = job;
  const { name, pool, handler, priority, scheduledAt, labels, recurrence } = definition;
  return {
    ...{ jobId, tenant, name, state: stateOf(job, hasOpen), type: recurrence?.times.type ?? "ONCE", version },
    ...{ plan: plan?.plan ?? null, pool, handler, priority, scheduledAt, labels, createdAt, updatedAt },
  };
}

function isAsked(item: JobSummary, { state, type, pool, handler, name, labels = [], ids }: JobFilter): boolean {
  return (
    (ids === undefined || (item.jobId >= ids.first && item.jobId <= ids.last)) &&
    (pool === undefined || item.pool === pool) &&
    (handler === undefined || item.handler === handler) &&
    (name === undefined || item.name === name) &&
    (state === undefined || item.state === state) &&
    (type === undefined || item.type === type) &&
    hasAllLabels(item.labels, labels)
  );
}
