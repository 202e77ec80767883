import type { ShardId } from "../../../domain/ids.ts";
import { compareDue, type DueCursor } from "../../../ports/store-flows.ts";
import { behind, idBytes, idOf, instantAt, instantBytes } from "../bytes.ts";
import type { RedisConnection } from "../redis-connection.ts";

/** Runs of one shard in one call. */
const PER_CALL = 1_000;

/** See StoreRuns.openRuns: merges the shards, and reads on behind the last run that is certain. */
export async function openRuns(
  db: RedisConnection,
  shards: readonly ShardId[],
  after: DueCursor | null,
  limit: number,
): Promise<DueCursor[]> {
  const found: DueCursor[] = [];
  for (let from = after; ; from = found.at(-1) ?? null) {
    const size = Math.min(limit - found.length, PER_CALL);
    const bound = from === null ? "-" : behind(instantBytes(from.dueAt), idBytes(from.id));
    const answers = await db.call(
      shards.map((shard) => ["ZRANGE", db.key(`o${shard}`), bound, "+", "BYLEX", "LIMIT", "0", `${size}`]),
    );
    const pages = answers.map((members) => (members as Buffer[]).map(runOf));
    // Runs behind the last one of a full page may follow runs that were not read.
    const ends = pages.flatMap((page) => (page.length === size ? (page.at(-1) as DueCursor) : []));
    const end = ends.sort(compareDue)[0];
    const certain = pages.flat().filter((run) => end === undefined || compareDue(run, end) <= 0);
    found.push(...certain.sort(compareDue).slice(0, limit - found.length));
    if (end === undefined || found.length >= limit) return found;
  }
}

function runOf(member: Buffer): DueCursor {
  return { dueAt: instantAt(member, 0) as number, id: idOf(member, 6) };
}
