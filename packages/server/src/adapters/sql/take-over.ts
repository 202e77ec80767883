import type { Epoch, Incarnation, ShardId } from "../../domain/ids.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import { int2s } from "./arrays.ts";
import { applicationName, type Connections, type Session } from "./connections.ts";

/** How long a backend may take to end itself; with a lock it would otherwise hold up the shards' new owner for ever. */
const TERMINATE_TIMEOUT_MS = 5_000;

const OWNERS = "SELECT DISTINCT owner FROM shards WHERE id = ANY($1::int2[]) AND owner IS NOT NULL";

/**
 * Only the connections that commit: nothing else of an owner writes to executions or holds a fence. Our own commits run
 * on the one connection that asks, so any other of the same name is what an unknown answer has left behind.
 * Chosen first, ended after: as conditions of one scan PostgreSQL may try the ending before the choice.
 */
const TERMINATE = `
  -- Materialized, or PostgreSQL may well terminate first and look at the name afterwards.
  WITH former AS MATERIALIZED (
    SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = ANY($1::text[]) AND pid <> pg_backend_pid()
  )
  SELECT count(*) FROM former WHERE NOT pg_terminate_backend(pid, ${TERMINATE_TIMEOUT_MS})`;

/** The fences are locked in the order of their ids, as commits do: nobody waits in a circle. */
const RAISE = `
  WITH locked AS MATERIALIZED (SELECT id FROM shards WHERE id = ANY($1::int2[]) ORDER BY id FOR UPDATE)
  UPDATE shards s SET epoch = s.epoch + 1, owner = $2 FROM locked l WHERE s.id = l.id RETURNING s.id, s.epoch`;

/** See Store.takeOver. In this order: a stopped owner's backend may hold its fences until it is terminated. */
export function takeOver(db: Connections, shards: readonly ShardId[], owner: Incarnation): Promise<Epoch[]> {
  return db.session("commit", async (session) => {
    const ids = int2s(shards, (shard) => shard);
    const owners = (await session.run({ text: OWNERS, values: [ids] })).map(([name]) => name as Incarnation);
    await terminateCommits(session, [...new Set([...owners, owner])]);
    const epochs = new Map(
      (await session.run({ text: RAISE, values: [ids, owner] })).map(([id, epoch]) => [id as ShardId, epoch as Epoch]),
    );
    return shards.map((shard) => {
      const epoch = epochs.get(shard);
      if (epoch === undefined) throw new Error(`The store has no shard ${shard}`);
      return epoch;
    });
  });
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
