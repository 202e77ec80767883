import type { Role } from "../../../ports/bus.ts";
import { type Leases, LeasesUnavailable, type NodeLease, type NodeProfile } from "../../../ports/leases.ts";
import type { Connections } from "../connection/connections.ts";

/**
 * Time after its end at which a lease row is deleted: long enough that two nodes that wake up together never wait for
 * each other's rows.
 */
const FORGET_AFTER = "interval '1 minute'";
/** Concurrent statements may have begun in another order than the one in which they write. */
const AHEAD_MAX = "interval '1 second'";

/** Stands among the roles of a node that wants one leader. Programs of before take it for a role that they do not know. */
const WANTS_LEADER = "one-leader";

const COLUMNS = `incarnation, name, address, roles, version, started_at,
    (extract(epoch FROM statement_timestamp() - renewed_at) * 1000)::int8, feature_level, draining, reaches,
    has_secret`;

/**
 * Renews the lease in one statement. The lease counts from the time at which the server began the statement: not before
 * the caller asked, and not after any time that the caller trusts because of the answer.
 */
const RENEW = {
  name: "renew-lease",
  text: `
  WITH forgotten AS (
    DELETE FROM nodes WHERE incarnation = ANY(ARRAY(
      SELECT incarnation FROM nodes WHERE expires_at < statement_timestamp() - ${FORGET_AFTER} AND incarnation <> $1
      FOR UPDATE SKIP LOCKED))
  ), set_back AS (
    -- Renewed in the future: PostgreSQL's clock was set back since. A node that lives renews its lease soon; one that has
    -- died would keep its shards until the clock is there again.
    UPDATE nodes SET renewed_at = statement_timestamp(),
      expires_at = statement_timestamp() + (expires_at - renewed_at)
    WHERE incarnation = ANY(ARRAY(
      SELECT incarnation FROM nodes
      WHERE renewed_at > statement_timestamp() + ${AHEAD_MAX} AND incarnation <> $1 FOR UPDATE SKIP LOCKED))
  ), mine AS (
    INSERT INTO nodes (incarnation, name, address, roles, version, started_at, renewed_at, expires_at,
      feature_level, draining, reaches, has_secret)
    VALUES ($1, $2, $3, $4, $5, $6, statement_timestamp(), statement_timestamp() + $7::int8 * interval '1 millisecond',
      $8, $9, $10, $11)
    ON CONFLICT (incarnation) DO UPDATE SET renewed_at = excluded.renewed_at, expires_at = excluded.expires_at,
      address = excluded.address, roles = excluded.roles, reaches = excluded.reaches,
      has_secret = excluded.has_secret
    RETURNING ${COLUMNS}
  )
  -- The statement does not see in the table what it has written itself.
  SELECT * FROM mine UNION ALL
  SELECT ${COLUMNS} FROM nodes WHERE expires_at > statement_timestamp() AND incarnation <> $1`,
};

/** All nodes, including those that left recently, whose rows are kept for a while. */
const LIST = `SELECT ${COLUMNS}, expires_at > statement_timestamp() FROM nodes ORDER BY name, started_at`;

const DRAIN = `UPDATE nodes SET draining = $2
  WHERE incarnation = $1 AND expires_at > statement_timestamp() RETURNING true`;

const RELEASE = "DELETE FROM nodes WHERE incarnation = $1";

/** Leases in the store's own PostgreSQL, judged by the clock of PostgreSQL. */
export function sqlLeases(db: Connections): Leases {
  return {
    renew: (node, ttlMs) => orUnavailable(() => renew(db, node, ttlMs)),
    release: (node) =>
      orUnavailable(async () => {
        await db.run("lease", { text: RELEASE, values: [node] });
      }),
    list: () =>
      orUnavailable(async () => {
        const rows = await db.run("lease", { text: LIST });
        return rows.map((row) => ({ ...leaseOf(row), isLiving: row.at(-1) as boolean }));
      }),
    drain: (node, isDraining) =>
      orUnavailable(async () => (await db.run("lease", { text: DRAIN, values: [node, isDraining] })).length > 0),
  };
}

async function renew(db: Connections, node: NodeProfile, ttlMs: number): Promise<NodeLease[]> {
  const { incarnation, name, address, roles, version, startedAt, level } = node;
  const { wasDraining = false, reaches = null, hasSecret = false } = node;
  const reached = reaches && JSON.stringify(reaches);
  const said = node.wantsLeader === true ? [...roles, WANTS_LEADER] : roles;
  const about = [incarnation, name, address, JSON.stringify(said), version, startedAt];
  const values = [...about, ttlMs, level, wasDraining, reached, hasSecret];
  return (await db.run("lease", { ...RENEW, values })).map(leaseOf);
}

function leaseOf(row: unknown[]): NodeLease {
  const [incarnation, name, address, roles, version, startedAt, agoMs, level, draining, reached, hasSecret] = row as [
    string,
    string,
    string,
    string,
    string,
    number,
    number,
    number,
    boolean,
    string | null,
    boolean,
  ];
  const renewedAgoMs = Math.max(0, agoMs);
  const reaches = reached === null ? null : JSON.parse(reached);
  const listed = JSON.parse(roles) as (Role | typeof WANTS_LEADER)[];
  const about = { incarnation, name, address, roles: listed.filter((role) => role !== WANTS_LEADER) };
  const wanted = listed.includes(WANTS_LEADER) ? { wantsLeader: true } : {};
  return { ...about, ...wanted, version, level, startedAt, renewedAgoMs, draining, reaches, hasSecret };
}

async function orUnavailable<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (cause) {
    throw new LeasesUnavailable("PostgreSQL did not answer about the nodes' leases", { cause });
  }
}
