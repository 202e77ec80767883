import type { Epoch, Incarnation, ShardId } from "../../../domain/ids.ts";
import { type SeenShard, type ShardHolder, StoreUnavailable } from "../../../ports/store.ts";
import { int2s, int8s } from "../connection/arrays.ts";
import { applicationName, type Connections, type Session } from "../connection/connections.ts";

/**
 * Longest wait for a backend to end, in milliseconds. A backend with a lock would otherwise hold up the shards' new
 * owner for ever.
 */
const TERMINATE_TIMEOUT_MS = 5_000;

/** Shards that no node has taken since the caller read their epochs. */
const WANTED = "JOIN unnest($1::int2[], $2::int8[]) AS wanted (id, epoch) USING (id, epoch)";

const OWNERS = `SELECT DISTINCT owner FROM shards ${WANTED} WHERE owner IS NOT NULL`;

const LET_GO = `
  WITH locked AS MATERIALIZED (SELECT id FROM shards ${WANTED} ORDER BY id FOR UPDATE OF shards)
  UPDATE shards s SET owner = NULL FROM locked l WHERE s.id = l.id`;

/**
 * Terminates only connections that commit, because nothing else of an owner writes to executions or holds a fence. This
 * node's own commits run on the connection that asks, so any other connection of the same name is left over from a
 * commit with an unknown answer. The statement first chooses the backends and then terminates them: as conditions of
 * one scan, PostgreSQL might terminate before it has chosen.
 */
const TERMINATE = `
  -- Materialized, or PostgreSQL may well terminate first and look at the name afterwards.
  WITH former AS MATERIALIZED (
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ANY($1::text[]) AND pid <> pg_backend_pid()
  )
  SELECT count(*) FROM former WHERE NOT pg_terminate_backend(pid, ${TERMINATE_TIMEOUT_MS})`;

/**
 * Locks the fences in the order of their ids, as commits do, which rules out deadlocks. The new epoch is the time in
 * microseconds: after a restore, or a failover that lost a takeover, a counter in the database could reach an epoch
 * that another node still holds.
 */
const RAISE = `
  WITH locked AS MATERIALIZED (
    SELECT id, known FROM shards JOIN unnest($1::int2[], $2::int8[], $4::int8[]) AS wanted (id, epoch, known) USING (id, epoch)
    ORDER BY id FOR UPDATE OF shards)
  UPDATE shards s SET owner = $3, epoch = greatest(
    s.epoch + 1, l.known + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::int8)
  FROM locked l WHERE s.id = l.id RETURNING s.id, s.epoch`;

interface Taken {
  /** Epochs in the order of the requested shards; null: another node was faster. */
  epochs: (Epoch | null)[];
  /** Number of the connection on which the shards were taken over. */
  connection: number;
}

/**
 * See Store.takeOver. Termination comes first, because the backend of a stopped owner may hold its fences until then.
 */
export function takeOver(db: Connections, seen: readonly SeenShard[], owner: Incarnation): Promise<Taken> {
  return db.session("commit", async (session) => {
    const wanted = asWanted(seen);
    const owners = (await session.run({ text: OWNERS, values: wanted })).map(([name]) => name as Incarnation);
    await terminateCommits(session, [...new Set([...owners, owner])]);
    const known = int8s(seen, ({ epoch, knownEpoch = epoch }) => knownEpoch);
    const raised = await session.run({ text: RAISE, values: [...wanted, owner, known] });
    const epochs = new Map(raised.map(([id, epoch]) => [id as ShardId, epoch as Epoch]));
    return { epochs: seen.map(({ shard }) => epochs.get(shard) ?? null), connection: session.connection };
  });
}

/** See Store.releaseShards. */
export async function releaseShards(db: Connections, seen: readonly SeenShard[]): Promise<void> {
  await db.run("commit", { text: LET_GO, values: asWanted(seen) });
}

/** See Store.readShards. */
export async function readShards(db: Connections): Promise<ShardHolder[]> {
  const rows = await db.run("read", { text: "SELECT id, epoch, owner FROM shards ORDER BY id" });
  return rows.map(([shard, epoch, owner]) => ({ shard, epoch, owner }) as ShardHolder);
}

function asWanted(seen: readonly SeenShard[]): unknown[] {
  return [int2s(seen, ({ shard }) => shard), int8s(seen, ({ epoch }) => epoch)];
}

async function terminateCommits(session: Session, owners: readonly Incarnation[]): Promise<void> {
  const names = owners.map((owner) => applicationName(owner, "commit"));
  const [row] = await session.run({ text: TERMINATE, values: [names] });
  if (row?.[0] !== 0) {
    throw new StoreUnavailable(
      `PostgreSQL did not end the connections of a shard's owner before within ${TERMINATE_TIMEOUT_MS} ms`,
    );
  }
}
