import type { ExecutionId, JobId } from "../../domain/ids.ts";
import { firstExecutionId } from "../../domain/ids.ts";
import type {
  BacklogOfPool,
  ExecutionCounts,
  ExecutionFilter,
  ExecutionSummary,
  ExecutionView,
  JobFilter,
  JobSummary,
  JobView,
  Listing,
  Page,
  StoreQueries,
} from "../../ports/store-queries.ts";
import { payloadName, readBodies, resultName } from "./bodies.ts";
import { digest, ID_BYTES, idBytes, idOf, laneAt, laneBytes } from "./bytes.ts";
import { type Kind, type Kinds } from "./kinds.ts";
import { NotBuilt, partly } from "./not-built.ts";
import { readRows } from "./owner-reads.ts";
import { queueCode, type StoredExecution } from "./record.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { acceptedJobs } from "./submit.ts";

/** Rows that one page of a list examines. */
const EXAMINED = 1_000;
/** Seconds whose ids are read at once. */
const SECONDS = 16;
/** Lanes that the backlog reads. */
const LANES_MAX = 1_000;
/** Executions that a job shows. */
const LATEST = 5;
const DEAD_LETTERS = "D".charCodeAt(0);

/** Name and labels of a job, which its executions do not have. */
interface More {
  name: string | null;
  labels: Readonly<Record<string, string>>;
}

/** Reads of the api. */
export class Queries {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  get port(): StoreQueries {
    return partly<StoreQueries>("queries", {
      getExecution: (...asked) => this.#getExecution(...asked),
      listExecutions: (...asked) => this.#listExecutions(...asked),
      getJob: (...asked) => this.#getJob(...asked),
      listJobs: (...asked) => this.#listJobs(...asked),
      answered: (idempotency) => this.#answered(idempotency),
      countExecutions: (...asked) => this.#countExecutions(...asked),
      backlog: (limit) => this.#backlog(limit),
      // No recurring job can be stored yet.
      overdue: async () => [],
      recurringJobs: async () => [],
    });
  }

  /** Numbers of the flows of a tenant that have dead letters. @param pool of this pool only; undefined: of all */
  async flowsWithLetters(tenant: string, pool: string | undefined): Promise<number[]> {
    const counts = (await this.#counts()).filter(({ code, count }) => code === DEAD_LETTERS && count > 0);
    const own = counts.filter(({ flow }) => flow.tenant === tenant && (pool === undefined || flow.pool === pool));
    return own.map(({ number }) => number);
  }

  async #getExecution(tenant: string, id: ExecutionId): Promise<ExecutionView | null> {
    const [row] = await readRows(this.#db, [id]);
    if (row == null) return null;
    const kind = await this.#kindOf(row);
    if (kind.tenant !== tenant) return null;
    const [payload, result] = await this.#bodiesOf(row);
    return {
      ...row.summary(kind),
      ...{ requires: kind.requires, policy: row.policy(kind), payload, result },
      ...{ error: row.error, attempts: row.attempts, hasSteps: row.steps !== null },
    };
  }

  async #getJob(tenant: string, jobId: JobId): Promise<JobView | null> {
    const [row] = await readRows(this.#db, [firstExecutionId(jobId)]);
    if (row == null) return null;
    const kind = await this.#kindOf(row);
    if (kind.tenant !== tenant) return null;
    const [more] = await this.#more([jobId]);
    const [payload] = await this.#bodiesOf(row);
    const later = await this.#laterOf(jobId);
    const latestExecutions = await this.#summaries([...later, row].slice(0, LATEST));
    const state = later.some(({ isFinal }) => !isFinal) ? ("ACTIVE" as const) : undefined;
    const summary = { ...jobSummary(row, kind, more as More), ...(state && { state }) };
    const { name, pool, handler, priority, scheduledAt, labels } = summary;
    return {
      ...summary,
      definition: {
        ...{ name, pool, handler, requires: kind.requires, priority, scheduledAt, recurrence: null },
        ...{ policy: row.policy(kind), concurrencyKey: row.concurrencyKey, concurrencyLimit: kind.concurrencyLimit },
        ...{ uniqueKey: row.uniqueKey, labels },
      },
      payload,
      latestExecutions,
    };
  }

  /** Newest executions of a job behind the first one, newest first. */
  async #laterOf(jobId: JobId): Promise<StoredExecution[]> {
    const name = this.#db.key(Buffer.concat([Buffer.from("lm"), idBytes(jobId)]));
    const [members] = await this.#db.call([["ZRANGE", name, "+", "-", "BYLEX", "REV", "LIMIT", "0", `${LATEST}`]]);
    const rows = await readRows(
      this.#db,
      (members as Buffer[]).map((member) => idOf(member, 6)),
    );
    return rows.filter((row) => row !== null);
  }

  async #listExecutions(tenant: string, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>> {
    const { jobId, pool, handler, state, ids, since = 0, until = Number.POSITIVE_INFINITY } = filter;
    if (filter.labels !== undefined || filter.error !== undefined || filter.isOpen)
      throw new NotBuilt("filters by label, error and open state");
    const isAsked = (item: ExecutionSummary) =>
      (jobId === undefined || item.jobId === jobId) &&
      (ids === undefined || (item.executionId >= ids.first && item.executionId <= ids.last)) &&
      (pool === undefined || item.pool === pool) &&
      (handler === undefined || item.handler === handler) &&
      (state === undefined || item.state === state) &&
      item.createdAt >= since &&
      item.createdAt < until;
    return await this.#walk(
      tenant,
      page,
      firstExecutionId,
      ({ executionId }) => executionId,
      async (rows) => {
        const items = await this.#summaries(rows);
        return items.map((item) => (item.tenant === tenant && isAsked(item) ? item : null));
      },
    );
  }

  async #listJobs(tenant: string, filter: JobFilter, page: Page): Promise<Listing<JobSummary>> {
    const { state, type, pool, handler, name, labels = [], ids } = filter;
    const isAsked = (item: JobSummary) =>
      (ids === undefined || (item.jobId >= ids.first && item.jobId <= ids.last)) &&
      (pool === undefined || item.pool === pool) &&
      (handler === undefined || item.handler === handler) &&
      (name === undefined || item.name === name) &&
      (state === undefined || item.state === state) &&
      (type === undefined || item.type === type) &&
      labels.every((label) => hasLabel(item, label));
    return await this.#walk(
      tenant,
      page,
      (id) => id,
      ({ jobId }) => jobId,
      async (rows) => {
        const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
        const mores = await this.#more(rows.map(({ jobId }) => jobId));
        return rows.map((row, i) => {
          const item = jobSummary(row, kinds.get(row.kind) as Kind, mores[i] as More);
          return item.tenant === tenant && isAsked(item) ? item : null;
        });
      },
    );
  }

  /**
   * Walks the one-time jobs of a tenant from the newest to the oldest, at most `EXAMINED` for one page.
   * @param listed id in the list by the id of the job
   * @param judge items of rows; null: the filter leaves it out
   */
  async #walk<Item>(
    tenant: string,
    { after, limit }: Page,
    listed: (jobId: JobId) => string,
    idOfItem: (item: Item) => string,
    judge: (rows: readonly StoredExecution[]) => Promise<(Item | null)[]>,
  ): Promise<Listing<Item>> {
    const { ids, isLast } = await this.#newest(tenant, after, listed);
    const rows = (await readRows(this.#db, ids.map(firstExecutionId))).filter((row) => row !== null);
    const items = (await judge(rows)).filter((item) => item !== null);
    if (items.length > limit) return { items: items.slice(0, limit), next: idOfItem(items[limit - 1] as Item) };
    const oldest = ids.at(-1);
    return { items, next: isLast || oldest === undefined ? null : listed(oldest) };
  }

  /** Ids of the newest jobs behind `after`, in descending order of their ids in the list. */
  async #newest(
    tenant: string,
    after: string | null,
    listed: (jobId: JobId) => string,
  ): Promise<{ ids: JobId[]; isLast: boolean }> {
    const found: { id: JobId; key: string }[] = [];
    for (let from = after === null ? "+inf" : `${secondOf(after)}`; ; ) {
      const [answer] = await this.#db.call([
        ["ZRANGE", this.#db.key(`xb${tenant}`), from, "-inf", "BYSCORE", "REV", "LIMIT", "0", `${SECONDS}`],
      ]);
      const seconds = (answer as Buffer[]).map(String);
      for (const second of seconds) {
        const [bytes] = await this.#db.call([["GET", this.#db.key(`x${tenant}:${second}`)]]);
        const ids = idsOf(bytes as Buffer | null).map((id) => ({ id, key: listed(id) }));
        found.push(...ids.filter(({ key }) => after === null || key < after).sort((a, b) => (a.key > b.key ? -1 : 1)));
        if (found.length > EXAMINED) return { ids: found.slice(0, EXAMINED).map(({ id }) => id), isLast: false };
      }
      if (seconds.length < SECONDS) return { ids: found.map(({ id }) => id), isLast: true };
      from = `(${seconds.at(-1)}`;
    }
  }

  async #answered(...[{ tenant, key, requestHash }]: Parameters<StoreQueries["answered"]>) {
    const [answer] = (await this.#db.call([["HGET", this.#db.key("i"), digest(tenant, key)]])) as [Buffer | null];
    if (answer === null) return null;
    if (!answer.subarray(0, ID_BYTES).equals(digest(requestHash))) return { kind: "KEY_REUSED" } as const;
    return { kind: "ACCEPTED", replayed: true, jobs: acceptedJobs(answer.subarray(ID_BYTES)) } as const;
  }

  async #countExecutions(tenant: string | null, limit: number): Promise<ExecutionCounts> {
    const counts = (await this.#counts()).filter((one) => tenant === null || one.flow.tenant === tenant);
    const upTo = (code: number) => {
      const sum = counts.filter((one) => one.code === code).reduce((all, { count }) => all + count, 0);
      return Math.min(limit, sum);
    };
    const [waiting, ready] = [upTo(queueCode("WAITING")), upTo(queueCode("READY"))];
    return { waiting, ready, held: upTo(queueCode("HELD")), deadLetters: upTo(DEAD_LETTERS), openRuns: 0 };
  }

  async #backlog(limit: number): Promise<BacklogOfPool[]> {
    const ready = new Map<string, number>();
    for (const { flow, code, count } of await this.#counts())
      if (code === queueCode("READY") && count > 0) ready.set(flow.pool, (ready.get(flow.pool) ?? 0) + count);
    const oldest = await this.#oldestByPool();
    const pools = [...ready].sort(([a], [b]) => (a < b ? -1 : 1));
    return pools.flatMap(([pool, count]) => {
      const oldestDueAt = oldest.get(pool);
      return oldestDueAt === undefined ? [] : [{ pool, ready: Math.min(limit, count), oldestDueAt }];
    });
  }

  /** Earliest due time of the heads of each pool's lanes. */
  async #oldestByPool(): Promise<Map<string, number>> {
    const [lanes] = await this.#db.call([
      ["ZRANGE", this.#db.key("rl"), "-", "+", "BYLEX", "LIMIT", "0", `${LANES_MAX}`],
    ]);
    const names = (lanes as Buffer[]).map((lane) => Buffer.concat([Buffer.from("r"), laneBytes(laneAt(lane, 0))]));
    const heads = await this.#db.call(
      names.map((name) => ["ZRANGE", this.#db.key(name), "-", "+", "BYLEX", "LIMIT", "0", "1"]),
    );
    const ids = heads.flatMap((head) => (head as Buffer[]).map((member) => idOf(member, 8)));
    const oldest = new Map<string, number>();
    for (const { pool, dueAt } of await this.#summaries((await readRows(this.#db, ids)).filter((row) => row !== null)))
      oldest.set(pool, Math.min(dueAt, oldest.get(pool) ?? Number.POSITIVE_INFINITY));
    return oldest;
  }

  async #counts() {
    const [answer] = await this.#db.call([["HGETALL", this.#db.key("n")]]);
    const fields = Array.from({ length: (answer as Buffer[]).length / 2 }, (_, i) => {
      const [name, count] = (answer as Buffer[]).slice(2 * i, 2 * i + 2) as [Buffer, Buffer];
      return { number: name.readUInt32BE(), code: name[4] as number, count: Number(count) };
    });
    const flows = await this.#kinds.flowsOf(fields.map(({ number }) => number));
    return fields.flatMap(({ number, code, count }) => {
      const flow = flows.get(number);
      return flow === undefined ? [] : [{ number, flow, code, count }];
    });
  }

  async #summaries(rows: readonly StoredExecution[]): Promise<ExecutionSummary[]> {
    const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
    return rows.map((row) => row.summary(kinds.get(row.kind) as Kind));
  }

  async #kindOf({ kind }: StoredExecution): Promise<Kind> {
    return (await this.#kinds.kindsOf([kind])).get(kind) as Kind;
  }

  /** Payload and result. */
  async #bodiesOf({
    id,
    jobId,
    jobVersion,
    payload,
    result,
  }: StoredExecution): Promise<[Buffer | null, Buffer | null]> {
    const large = [
      ...(typeof payload === "number" ? [payloadName(jobId, jobVersion)] : []),
      ...(typeof result === "number" ? [resultName(id, result)] : []),
    ];
    const bodies = await readBodies(this.#db, large);
    const next = (own: Buffer | number | null) => (typeof own === "number" ? (bodies.shift() ?? null) : own);
    return [next(payload), next(result)];
  }

  async #more(jobIds: readonly JobId[]): Promise<More[]> {
    if (jobIds.length === 0) return [];
    const keys = jobIds.map((id) => this.#db.key(Buffer.concat([Buffer.from("j"), idBytes(id)])));
    const [texts] = await this.#db.call([["MGET", ...keys]]);
    return (texts as (Buffer | null)[]).map((text) =>
      text === null ? { name: null, labels: {} } : (JSON.parse(String(text)) as More),
    );
  }
}

function jobSummary(row: StoredExecution, kind: Kind, { name, labels }: More): JobSummary {
  const { tenant, pool, handler, priority } = kind;
  const { jobId, createdAt, scheduledAt } = row;
  return {
    ...{ jobId, tenant, name, state: row.isFinal ? "FINISHED" : "ACTIVE", type: "ONCE", version: 1, plan: null },
    ...{ pool, handler, priority, scheduledAt, labels, createdAt, updatedAt: createdAt },
  };
}

function hasLabel({ labels }: JobSummary, label: string): boolean {
  return Object.entries(labels).some(([key, value]) => label === key || label === `${key}=${value}`);
}

/** Second within an id, which is a UUIDv7. */
function secondOf(id: string): number {
  return Math.floor(Number.parseInt(id.slice(0, 13).replace("-", ""), 16) / 1_000);
}

function idsOf(bytes: Buffer | null): JobId[] {
  return Array.from({ length: (bytes?.length ?? 0) / ID_BYTES }, (_, i) => idOf(bytes as Buffer, i * ID_BYTES));
}
