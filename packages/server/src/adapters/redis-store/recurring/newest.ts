import type { Listing } from "../../../ports/store-queries.ts";
import { ID_BYTES, idOf } from "../bytes.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";

/** Rows that one page of a list examines. */
export const EXAMINED = 1_000;
/** Seconds whose ids are read at once. */
const SECONDS = 16;

/** Ids of a list, the newest first. */
export interface Examined {
  ids: string[];
  /** Whether there are no further ones. */
  isLast: boolean;
}

/** Ids by seconds of a tenant: the letter of their keys, and the id in the list by the stored one. */
export interface Source {
  letter: "x" | "y";
  listed: (id: string) => string;
}

/** The newest ids of several sources behind `after`, at most `max`, in descending order. */
export async function newestOf(
  db: RedisConnection,
  tenant: string,
  sources: readonly Source[],
  { after, max }: { after: string | null; max: number },
): Promise<Examined> {
  const found: string[] = [];
  for (let from = after === null ? "+inf" : `${secondOf(after)}`; ; ) {
    const { seconds, isLast } = await secondsBefore(db, tenant, sources, from);
    for (const second of seconds) {
      const ids = await idsOfSecond(db, tenant, sources, second);
      found.push(...ids.filter((id) => after === null || id < after));
      if (found.length > max) return { ids: found.slice(0, max), isLast: false };
    }
    if (isLast) return { ids: found, isLast: true };
    from = `(${seconds.at(-1)}`;
  }
}

/** The newest ids of an index of ids between two bounds, at most `max`, in descending order. */
export async function newestOfIndex(
  db: RedisConnection,
  index: RedisArgument,
  { from, until }: { from: RedisArgument; until: RedisArgument },
  max: number,
): Promise<Examined> {
  const [answer] = await db.call([["ZRANGE", index, until, from, "BYLEX", "REV", "LIMIT", "0", `${max + 1}`]]);
  const ids = (answer as Buffer[]).map((id) => idOf(id));
  return { ids: ids.slice(0, max), isLast: ids.length <= max };
}

/** Seconds that exist in any of the sources, the newest first. */
async function secondsBefore(db: RedisConnection, tenant: string, sources: readonly Source[], from: string) {
  const answers = await db.call(
    sources.map(({ letter }) => [
      ...([
        "ZRANGE",
        db.key(`${letter}b${tenant}`),
        from,
        "-inf",
        "BYSCORE",
        "REV",
        "LIMIT",
        "0",
        `${SECONDS}`,
      ] as const),
    ]),
  );
  const lists = answers.map((answer) => (answer as Buffer[]).map(Number));
  const full = lists.filter(({ length }) => length === SECONDS);
  // Seconds before the last one that was read of a source are not known to be all.
  const known = Math.max(...full.map((list) => list.at(-1) as number), 0);
  const seconds = [...new Set(lists.flat())].filter((second) => second >= known).sort((a, b) => b - a);
  return { seconds, isLast: full.length === 0 };
}

async function idsOfSecond(db: RedisConnection, tenant: string, sources: readonly Source[], second: number) {
  const answers = await db.call(sources.map(({ letter }) => ["GET", db.key(`${letter}${tenant}:${second}`)]));
  const ids = sources.flatMap(({ listed }, i) => idsOf(answers[i] as Buffer | null).map(listed));
  return ids.sort((a, b) => (a > b ? -1 : 1));
}

/** A page of a list whose rows were examined. @param items those that the filter takes, the newest first */
export function pageOf<Item>(
  items: Item[],
  limit: number,
  { ids, isLast }: Examined,
  idOfItem: (item: Item) => string,
): Listing<Item> {
  if (items.length > limit) return { items: items.slice(0, limit), next: idOfItem(items[limit - 1] as Item) };
  return { items, next: isLast ? null : (ids.at(-1) ?? null) };
}

/** Second within an id, which is a UUIDv7. */
function secondOf(id: string): number {
  return Math.floor(Number.parseInt(id.slice(0, 13).replace("-", ""), 16) / 1_000);
}

function idsOf(bytes: Buffer | null): string[] {
  return Array.from({ length: (bytes?.length ?? 0) / ID_BYTES }, (_, i) => idOf(bytes as Buffer, i * ID_BYTES));
}
