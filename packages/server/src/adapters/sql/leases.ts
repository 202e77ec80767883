import { type Leases, LeasesUnavailable, type NodeLease, type NodeProfile } from "../../ports/leases.ts";
import type { Connections } from "./connections.ts";

/** Long after its end, so that two nodes that wake together never wait for each other's rows. */
const FORGET_AFTER = "interval '1 minute'";

/**
 * One statement. Its time is when the server began with it, so not before the caller asked and not later than any trust
 * that the caller puts into the answer.
 */
const RENEW = {
  name: "renew-lease",
  text: `
  WITH forgotten AS (
    DELETE FROM nodes WHERE incarnation = ANY(ARRAY(
      SELECT incarnation FROM nodes WHERE expires_at < statement_timestamp() - ${FORGET_AFTER} AND incarnation <> $1
      FOR UPDATE SKIP LOCKED))
  ), mine AS (
    INSERT INTO nodes (incarnation, name, address, roles, version, started_at, renewed_at, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, statement_timestamp(), statement_timestamp() + $7::int8 * interval '1 millisecond')
    ON CONFLICT (incarnation) DO UPDATE SET renewed_at = excluded.renewed_at, expires_at = excluded.expires_at,
      address = excluded.address, roles = excluded.roles
  )
  SELECT incarnation, name, address, roles, version, started_at,
    (extract(epoch FROM statement_timestamp() - renewed_at) * 1000)::int8
  FROM nodes WHERE expires_at > statement_timestamp() AND incarnation <> $1`,
};

const RELEASE = "DELETE FROM nodes WHERE incarnation = $1";

/** Leases in the store's own PostgreSQL, judged by its clock. */
export function sqlLeases(db: Connections): Leases {
  return {
    renew: (node, ttlMs) => orUnavailable(() => renew(db, node, ttlMs)),
    release: (node) =>
      orUnavailable(async () => {
        await db.run("lease", { text: RELEASE, values: [node] });
      }),
  };
}

async function renew(db: Connections, node: NodeProfile, ttlMs: number): Promise<NodeLease[]> {
  const { incarnation, name, address, roles, version, startedAt } = node;
  const values = [incarnation, name, address, JSON.stringify(roles), version, startedAt, ttlMs];
  const others = await db.run("lease", { ...RENEW, values });
  // The statement does not see what it has written itself.
  return [{ ...node, renewedAgoMs: 0 }, ...others.map(leaseOf)];
}

function leaseOf(row: unknown[]): NodeLease {
  const [incarnation, name, address, roles, version, startedAt, agoMs] = row as [
    string,
    string,
    string,
    string,
    string,
    number,
    number,
  ];
  const renewedAgoMs = Math.max(0, agoMs);
  return { incarnation, name, address, roles: JSON.parse(roles), version, startedAt, renewedAgoMs };
}

async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw new LeasesUnavailable("PostgreSQL did not answer about the nodes' leases", { cause });
  }
}
