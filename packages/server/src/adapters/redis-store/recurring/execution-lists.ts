import { type ExecutionId, firstExecutionId, type JobId } from "../../../domain/ids.ts";
import type {
  BoundedCount,
  ExecutionFilter,
  ExecutionSummary,
  Listing,
  Page,
  StoreQueries,
} from "../../../ports/store-queries.ts";
import { idOf } from "../bytes.ts";
import type { Kind, Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { StoredExecution } from "../record.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { hasLabels, jobKey, keyOf } from "./job-rows.ts";
import { EXAMINED, type Examined, newestOf, pageOf } from "./newest.ts";

/** Rows that a count examines. */
const COUNTED_MAX = 10_000;
/** Executions of a job that a list of them reads and sorts. For a job with more, the list examines the newest of the tenant. */
const OF_JOB_MAX = 10_000;
/** Members of one call. */
const MEMBERS = 1_000;

const SOURCES = [
  { letter: "x", listed: firstExecutionId },
  { letter: "y", listed: (id: string) => id },
] as const;

/** Lists of executions, the newest first. */
export class ExecutionLists implements Pick<StoreQueries, "listExecutions" | "countListed"> {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  async listExecutions(tenant: string, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>> {
    const { items, examined } = await this.#examine(tenant, filter, page.after);
    return pageOf(items, page.limit, examined, ({ executionId }) => executionId);
  }

  async countListed(tenant: string, filter: ExecutionFilter): Promise<BoundedCount> {
    let matching = 0;
    for (let [after, looked]: [string | null, number] = [null, 0]; looked < COUNTED_MAX; looked += EXAMINED) {
      const { items, examined } = await this.#examine(tenant, filter, after);
      matching += items.length;
      if (examined.isLast) return { matching, hasMore: false };
      after = examined.ids.at(-1) ?? null;
    }
    return { matching, hasMore: true };
  }

  /** Examines the next rows of a list. @returns those that the filter takes */
  async #examine(tenant: string, filter: ExecutionFilter, after: string | null) {
    const examined =
      (filter.jobId === undefined ? null : await this.#ofJob(filter.jobId, after)) ??
      (await newestOf(this.#db, tenant, SOURCES, { after, max: EXAMINED }));
    const rows = (await readRows(this.#db, examined.ids)).filter((row) => row !== null);
    const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
    const found = rows.map((row) => ({ row, item: row.summary(kinds.get(row.kind) as Kind) }));
    const asked = found.filter(({ row, item }) => item.tenant === tenant && isAsked(row, item, filter));
    const isLabelled = await this.#labelled(asked, filter.labels);
    return { items: asked.map(({ item }) => item).filter(isLabelled), examined };
  }

  /** Executions of a job by descending id; null: it has too many to sort them. */
  async #ofJob(jobId: JobId, after: string | null): Promise<Examined | null> {
    const keys = ["l", "lm"].map((letter) => this.#db.key(keyOf(letter, jobId)));
    const counts = (await this.#db.call(keys.map((key) => ["ZCARD", key]))) as number[];
    if (counts.reduce((sum, count) => sum + count, 0) > OF_JOB_MAX) return null;
    const ids: ExecutionId[] = [firstExecutionId(jobId)];
    for (const [i, key] of keys.entries())
      for (let from = 0; from < (counts[i] as number); from += MEMBERS) {
        const [members] = await this.#db.call([["ZRANGE", key, `${from}`, `${from + MEMBERS - 1}`]]);
        ids.push(...(members as Buffer[]).map((member) => idOf(member, 6)));
      }
    const behind = [...new Set(ids)].filter((id) => after === null || id < after).sort((a, b) => (a > b ? -1 : 1));
    return { ids: behind.slice(0, EXAMINED), isLast: behind.length <= EXAMINED };
  }

  /** Whether the job of an execution has the labels. */
  async #labelled(
    found: readonly { item: ExecutionSummary }[],
    labels: readonly string[] | undefined,
  ): Promise<(item: ExecutionSummary) => boolean> {
    if (labels === undefined || found.length === 0) return () => true;
    const ids = [...new Set(found.map(({ item }) => item.jobId))];
    const [texts] = await this.#db.call([["MGET", ...ids.map((id) => this.#db.key(jobKey(id)))]]);
    const having = new Set(ids.filter((_, i) => hasLabels((texts as (Buffer | null)[])[i] ?? null, labels)));
    return ({ jobId }) => having.has(jobId);
  }
}

function isAsked(row: StoredExecution, item: ExecutionSummary, filter: ExecutionFilter): boolean {
  const { jobId, pool, handler, state, ids, error, isOpen, since = 0, until = Number.POSITIVE_INFINITY } = filter;
  return (
    (jobId === undefined || item.jobId === jobId) &&
    (ids === undefined || (item.executionId >= ids.first && item.executionId <= ids.last)) &&
    (pool === undefined || item.pool === pool) &&
    (handler === undefined || item.handler === handler) &&
    (state === undefined || item.state === state) &&
    (isOpen !== true || !row.isFinal) &&
    (error === undefined || hasText(row, error)) &&
    item.createdAt >= since &&
    item.createdAt < until
  );
}

function hasText({ error }: StoredExecution, text: string): boolean {
  return error !== null && `${error.name}: ${error.message}`.toLowerCase().includes(text.toLowerCase());
}
