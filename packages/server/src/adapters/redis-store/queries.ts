import type { ExecutionId } from "../../domain/ids.ts";
import type {
  BacklogOfPool,
  ExecutionCounts,
  ExecutionSummary,
  ExecutionView,
  StoreQueries,
} from "../../ports/store-queries.ts";
import { idOf, laneAt, laneBytes } from "./bytes.ts";
import { type Kind, type Kinds } from "./kinds.ts";
import { readRows } from "./owner-reads.ts";
import { queueCode, type StoredExecution } from "./record.ts";
import { ExecutionLists } from "./recurring/execution-lists.ts";
import { JobLists } from "./recurring/job-lists.ts";
import { Ledger } from "./recurring/ledger.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { bodiesOf } from "./runs/payloads.ts";
import { RunQueries } from "./runs/run-queries.ts";
import { answeredBefore } from "./submit.ts";

/** Lanes that the backlog reads. */
const LANES_MAX = 1_000;
const DEAD_LETTERS = "D".charCodeAt(0);

/** Reads of the api. */
export class Queries {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  get port(): StoreQueries {
    const [db, kinds] = [this.#db, this.#kinds];
    const [executions, jobs, ledger] = [new ExecutionLists(db, kinds), new JobLists(db, kinds), new Ledger(db, kinds)];
    const runs = new RunQueries(db, kinds);
    return {
      getExecution: (...asked) => this.#getExecution(...asked),
      listExecutions: (...asked) => executions.listExecutions(...asked),
      countListed: (...asked) => executions.countListed(...asked),
      listRuns: (...asked) => runs.listRuns(...asked),
      getRun: (...asked) => runs.getRun(...asked),
      listNodes: (...asked) => runs.listNodes(...asked),
      getJob: (...asked) => jobs.getJob(...asked),
      listJobs: (...asked) => jobs.listJobs(...asked),
      overdue: (...asked) => jobs.overdue(...asked),
      recurringJobs: (...asked) => jobs.recurringJobs(...asked),
      ledger: (...asked) => ledger.ledger(...asked),
      traces: (...asked) => ledger.traces(...asked),
      answered: (idempotency) => answeredBefore(db, idempotency),
      countExecutions: (...asked) => this.#countExecutions(...asked),
      backlog: (limit) => this.#backlog(limit),
    };
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
    const [payload, result] = await bodiesOf(this.#db, row);
    const { ofNode, branch, isRun } = row;
    return {
      ...row.summary(kind),
      ...{ requires: kind.requires, policy: row.policy(kind), payload, result },
      ...{ error: row.error, attempts: row.attempts, hasSteps: row.steps !== null },
      ...(ofNode !== null && { ofRun: { ...ofNode, branch } }),
      ...(isRun && { isRun }),
    };
  }

  async #countExecutions(tenant: string | null, limit: number): Promise<ExecutionCounts> {
    const counts = (await this.#counts()).filter((one) => tenant === null || one.flow.tenant === tenant);
    const upTo = (code: number) => {
      const sum = counts.filter((one) => one.code === code).reduce((all, { count }) => all + count, 0);
      return Math.min(limit, sum);
    };
    const [waiting, ready] = [upTo(queueCode("WAITING")), upTo(queueCode("READY"))];
    return {
      waiting,
      ready,
      held: upTo(queueCode("HELD")),
      deadLetters: upTo(DEAD_LETTERS),
      openRuns: upTo(queueCode("OPEN")),
    };
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
}
