import type { ExecutionId } from "../../../domain/ids.ts";
import type { DeadLetter, DeadLetterFilter, StoreDeadLetters } from "../../../ports/store-dead-letters.ts";
import type { ExecutionSummary, Listing, Page } from "../../../ports/store-queries.ts";
import { behind, idBytes, idOf, u32 } from "../bytes.ts";
import type { Kind, Kinds } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import { stateCode } from "../record.ts";
import type { RedisConnection } from "../redis-connection.ts";

/** Letters that one page examines, and flows whose indexes one call reads. */
const EXAMINED = 1_000;
export const FLOWS = 64;

interface Letters {
  db: RedisConnection;
  kinds: Kinds;
  /** Numbers of the flows of a tenant that have dead letters; pool: of this pool only. */
  flowsOf: (tenant: string, pool: string | undefined) => Promise<number[]>;
}

/** See StoreDeadLetters.list: merges the indexes of the tenant's flows, the newest first. */
export function listDeadLetters(letters: Letters): StoreDeadLetters["list"] {
  return async (tenant, filter, page) => {
    const { ids, isLast } = await newest(letters, await letters.flowsOf(tenant, filter.pool), page);
    const rows = (await readRows(letters.db, ids)).filter((row) => row !== null);
    const kinds = await letters.kinds.kindsOf(rows.map(({ kind }) => kind));
    const all = rows.map((row): DeadLetter => ({ ...row.summary(kinds.get(row.kind) as Kind), error: row.error }));
    const items = all.filter((letter) => isAsked(letter, filter));
    return pageOf(items, page.limit, isLast ? null : (ids.at(-1) ?? null));
  };
}

function pageOf(items: DeadLetter[], limit: number, next: ExecutionId | null): Listing<DeadLetter> {
  if (items.length <= limit) return { items, next };
  const page = items.slice(0, limit);
  return { items: page, next: page.at(-1)?.executionId ?? null };
}

async function newest(
  { db }: Letters,
  flows: readonly number[],
  { after }: Page,
): Promise<{ ids: ExecutionId[]; isLast: boolean }> {
  const from = after === null ? "+" : behind(idBytes(after));
  const found: ExecutionId[] = [];
  for (let at = 0; at < flows.length; at += FLOWS) {
    const keys = flows.slice(at, at + FLOWS).map((flow) => db.key(indexOf(flow)));
    const pages = await db.call(
      keys.map((key) => ["ZRANGE", key, from, "-", "BYLEX", "REV", "LIMIT", "0", `${EXAMINED + 1}`]),
    );
    found.push(...pages.flatMap((members) => (members as Buffer[]).map((member) => idOf(member))));
    found.sort((a, b) => (a > b ? -1 : 1)).splice(EXAMINED + 1);
  }
  return { ids: found.slice(0, EXAMINED), isLast: found.length <= EXAMINED };
}

export function indexOf(flow: number): Buffer {
  return Buffer.concat([Buffer.from("f"), u32(flow), Buffer.from([stateCode("DEAD")])]);
}

/** Whether a filter takes the letter; its bounds are those of the time of death. */
export function isAsked({ handler, jobId, finishedAt }: ExecutionSummary, filter: DeadLetterFilter): boolean {
  const { since = 0, until = Number.POSITIVE_INFINITY } = filter;
  const diedAt = finishedAt ?? 0;
  return (
    (filter.handler === undefined || handler === filter.handler) &&
    (filter.jobId === undefined || jobId === filter.jobId) &&
    diedAt >= since &&
    diedAt < until
  );
}
