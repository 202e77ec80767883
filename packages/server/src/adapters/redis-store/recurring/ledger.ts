import type { EpochMs, JobId } from "../../../domain/ids.ts";
import { ledgerPage, ledgerStart, type SkippedInstants } from "../../../ports/ledger-page.ts";
import type {
  ExecutionSummary,
  InstantTraces,
  JobStretch,
  LedgerItem,
  Listing,
  Page,
  StoreQueries,
} from "../../../ports/store-queries.ts";
import { behind, idOf, instantAt, instantBytes } from "../bytes.ts";
import type { Kind, Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { skipOf } from "./commit-plans.ts";
import { keyOf, readJobs } from "./job-rows.ts";

/** Outcomes of the planned instants of recurring jobs. */
export class Ledger implements Pick<StoreQueries, "ledger" | "traces"> {
  readonly #db: RedisConnection;
  readonly #kinds: Kinds;

  constructor(db: RedisConnection, kinds: Kinds) {
    this.#db = db;
    this.#kinds = kinds;
  }

  async ledger(
    tenant: string,
    jobId: JobId,
    since: EpochMs,
    until: EpochMs,
    { after, limit }: Page,
  ): Promise<Listing<LedgerItem>> {
    const [job] = await readJobs(this.#db, this.#kinds, [jobId]);
    if (job == null || job.tenant !== tenant) return { items: [], next: null };
    const start = ledgerStart(until, after);
    // The reads have this order, so that an instant that a backfill creates in between is listed twice rather than not at all.
    const skips = await this.#skips(jobId, since, start.skips, limit + 1);
    const executions = await this.#executions(jobId, since, start.executions, limit + 1);
    return ledgerPage(executions, skips, limit);
  }

  async traces(asked: readonly JobStretch[], limit: number): Promise<InstantTraces[]> {
    const found: InstantTraces[] = [];
    for (const { jobId, since, until } of asked) {
      const [from, before] = [lower(since), upper(until)];
      const [planned, first, skips, gone] = (await this.#db.call([
        ["ZRANGE", this.#key("l", jobId), from, before, "BYLEX", "LIMIT", "0", `${limit}`],
        ["ZRANGE", this.#key("q", jobId), upper(since), "-", "BYLEX", "REV", "LIMIT", "0", "1"],
        ["ZRANGE", this.#key("q", jobId), from, before, "BYLEX", "LIMIT", "0", `${limit}`],
        // This comes last, so that it covers each execution that has left its index before.
        ["GET", this.#db.key("hs")],
      ])) as [Buffer[], Buffer[], Buffer[], Buffer | null];
      // Ranges of skipped instants do not overlap, so at most one began before and reaches into the period.
      const removed = gone === null ? [] : [{ from: since, to: Math.min(instantAt(gone, 0) ?? 0, until - 1) }];
      const all = [...removed, ...[...first, ...skips].map(skipOf)];
      const ranges = all.filter(({ from: at, to }) => to >= since && at < until);
      const skipped = ranges.slice(0, limit).map(({ from: at, to }) => ({ from: at, to }));
      found.push({ fired: planned.map((member) => instantAt(member, 0) as EpochMs), skipped });
    }
    return found;
  }

  /** Executions of planned instants, the latest first. */
  async #executions(jobId: JobId, since: EpochMs, until: EpochMs, limit: number): Promise<ExecutionSummary[]> {
    const [members] = await this.#db.call([
      ["ZRANGE", this.#key("l", jobId), upper(until), lower(since), "BYLEX", "REV", "LIMIT", "0", `${limit}`],
    ]);
    const ids = (members as Buffer[]).map((member) => idOf(member, 6));
    const rows = (await readRows(this.#db, ids)).filter((row) => row !== null);
    const kinds = await this.#kinds.kindsOf(rows.map(({ kind }) => kind));
    return rows.map((row) => row.summary(kinds.get(row.kind) as Kind));
  }

  /** Ranges of skipped instants, the latest first, without what was made up for. */
  async #skips(jobId: JobId, since: EpochMs, until: EpochMs, limit: number): Promise<SkippedInstants[]> {
    const found: SkippedInstants[] = [];
    for (let from = upper(until); found.length < limit; ) {
      const [answer] = await this.#db.call([
        ["ZRANGE", this.#key("q", jobId), from, "-", "BYLEX", "REV", "LIMIT", "0", `${limit}`],
      ]);
      const members = answer as Buffer[];
      const ranges = members.map(skipOf);
      const within = ranges.filter(({ to }) => to >= since);
      found.push(...(await this.#withoutMadeUp(jobId, within)));
      if (members.length < limit || within.length < ranges.length) break;
      from = behind(members.at(-1) as Buffer);
    }
    return found.slice(0, limit);
  }

  /** Leaves out instants for which a catch-up or backfill created executions later. */
  async #withoutMadeUp(jobId: JobId, ranges: readonly SkippedInstants[]): Promise<SkippedInstants[]> {
    const key = this.#key("l", jobId);
    const made = (await this.#db.call(
      ranges.map(({ from, to }) => ["ZLEXCOUNT", key, lower(from), upper(to + 1)]),
    )) as number[];
    return ranges
      .map((range, i) => ({ ...range, count: range.count - (made[i] as number) }))
      .filter(({ count }) => count > 0);
  }

  #key(letter: string, jobId: JobId): RedisArgument {
    return this.#db.key(keyOf(letter, jobId));
  }
}

/** Latest planned instant whose execution upkeep has removed; null: there is none. */
export async function removedUntil(db: RedisConnection): Promise<EpochMs | null> {
  const [instant] = await db.call([["GET", db.key("hs")]]);
  return instant === null ? null : instantAt(instant as Buffer, 0);
}

/** Bounds of instants in an index: the first one that belongs to it, and the first one that does not. */
function lower(instant: EpochMs): Buffer {
  return Buffer.concat([Buffer.from("["), instantBytes(Math.ceil(instant))]);
}

function upper(instant: EpochMs): Buffer {
  return behind(instantBytes(Math.ceil(instant)));
}
