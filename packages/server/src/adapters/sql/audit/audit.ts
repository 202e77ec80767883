import type { EpochMs } from "../../../domain/ids.ts";
import type { AuditAnchor, AuditFilter, AuditPosition, ChainHead, StoreAudit } from "../../../ports/store-audit.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { Conditions } from "../connection/query.ts";
import { monthNamed, PARTITIONS } from "../schema/partitions.ts";
import { ANCHOR_COLUMNS, anchorFrom, headFrom, RECORD_COLUMNS, recordFrom } from "./audit-rows.ts";
import type { AuditTrail } from "./audit-trail.ts";

/**
 * The last record of each chain. The recursion finds the chains by one descent of the index each.
 */
const HEADS = `
  WITH RECURSIVE c (chain) AS (
    (SELECT chain FROM audit ORDER BY chain LIMIT 1)
    UNION ALL
    SELECT (SELECT a.chain FROM audit a WHERE a.chain > c.chain ORDER BY a.chain LIMIT 1) FROM c WHERE c.chain IS NOT NULL
  )
  SELECT c.chain, h.seq, encode(h.hash, 'hex') FROM c CROSS JOIN LATERAL (
    SELECT a.seq, a.hash FROM audit a WHERE a.chain = c.chain ORDER BY a.seq DESC LIMIT 1
  ) h WHERE c.chain IS NOT NULL ORDER BY c.chain`;

const SEALED = "SELECT chain, seq FROM audit_sealed";

const LAST = `SELECT ${ANCHOR_COLUMNS} FROM audit_anchors ORDER BY number DESC LIMIT 1`;
const ANCHORS = `SELECT ${ANCHOR_COLUMNS} FROM audit_anchors WHERE number > $1 ORDER BY number LIMIT $2`;

/** Positions of chains of which retention has removed everything are dropped by the way. */
const ADD_ANCHOR = `
  WITH added AS (
    INSERT INTO audit_anchors (number, at, heads, floors, prev, hash, signature)
    SELECT $1::int8, $2::int8, $3::jsonb, $4::jsonb, decode($5, 'hex'), decode($6, 'hex'), $7::text
    WHERE coalesce((SELECT max(number) FROM audit_anchors), 0) = $1::int8 - 1
    ON CONFLICT DO NOTHING RETURNING number
  ), sealed AS (
    INSERT INTO audit_sealed AS s (chain, seq)
    SELECT h.chain, h.seq FROM added CROSS JOIN LATERAL jsonb_to_recordset($3::jsonb) AS h (chain uuid, seq bigint)
    ON CONFLICT (chain) DO UPDATE SET seq = greatest(s.seq, excluded.seq)
  ), forgotten AS (
    DELETE FROM audit_sealed s USING added, jsonb_to_recordset($4::jsonb) AS f (chain uuid, seq bigint)
    WHERE s.chain = f.chain AND s.seq <= f.seq
  )
  SELECT number FROM added`;

const READ = `SELECT ${RECORD_COLUMNS} FROM audit WHERE $1::int8 IS NULL OR (at, chain, seq) > ($1, $2::uuid, $3::int8)
  ORDER BY at, chain, seq LIMIT $4`;

/** See StoreAudit. */
export function audit(db: Connections, trail: AuditTrail): StoreAudit {
  return {
    write: (notes) => trail.write(notes),
    list: (...asked) => list(db, ...asked),
    read: async (after, limit) => {
      const values = [after?.at ?? null, after?.chain ?? null, after?.seq ?? null, limit];
      return (await db.run("list", { text: READ, values })).map(recordFrom);
    },
    anchors: async (after, limit) => (await db.run("list", { text: ANCHORS, values: [after, limit] })).map(anchorFrom),
    unsealed: () => db.session("maintain", unsealed),
    addAnchor: (anchor) => addAnchor(db, anchor),
    removable: (before) => db.session("maintain", (session) => removable(session, before)),
    remove: (before) =>
      db.session("maintain", async (session) => {
        for (const partition of await monthsBefore(session, before))
          await session.run({ text: `DROP TABLE IF EXISTS ${partition}` });
      }),
  };
}

async function list(db: Connections, filter: AuditFilter, after: AuditPosition | null, limit: number) {
  const { tenant, actor, action, target, since } = filter;
  const where = new Conditions();
  if (tenant !== null) where.add("tenant = ?", tenant);
  if (actor !== undefined) where.add("actor_key = ?", actor);
  if (action !== undefined) where.add("action = ?", action);
  if (target !== undefined) where.add("target = ?", target);
  if (since !== undefined) where.add("at >= ?", since);
  if (after !== null) {
    const place = [where.value(after.at), where.value(after.chain), where.value(after.seq)];
    where.fixed(`(at, chain, seq) < (${place[0]}::int8, ${place[1]}::uuid, ${place[2]}::int8)`);
  }
  const text = `SELECT ${RECORD_COLUMNS} FROM audit WHERE ${where.text} ORDER BY at DESC, chain DESC, seq DESC LIMIT ${limit}`;
  return (await db.run("list", { text, values: where.values })).map(recordFrom);
}

async function unsealed(session: Session) {
  const [last] = await session.run({ text: LAST });
  const heads = (await session.run({ text: HEADS })).map(headFrom);
  const sealed = new Map<string, number>();
  for (const [chain, seq] of await session.run({ text: SEALED })) sealed.set(chain as string, seq as number);
  const moved = heads.filter(({ chain, seq }) => seq > (sealed.get(chain) ?? 0));
  return { last: last === undefined ? null : anchorFrom(last), heads: moved };
}

async function addAnchor(db: Connections, anchor: AuditAnchor): Promise<boolean> {
  const { number, at, heads, floors, prev, hash, signature } = anchor;
  const values = [number, at, JSON.stringify(heads), JSON.stringify(floors), prev, hash, signature];
  return (await db.run("maintain", { text: ADD_ANCHOR, values })).length > 0;
}

/** Partitions that end at or before an instant. */
async function monthsBefore(session: Session, before: EpochMs): Promise<string[]> {
  const names = (await session.run({ text: PARTITIONS, values: ["audit"] })).map(([name]) => name as string);
  return names.filter((name) => (monthNamed("audit", name)?.endMs ?? Number.POSITIVE_INFINITY) <= before);
}

async function removable(session: Session, before: EpochMs): Promise<ChainHead[]> {
  const heads = new Map<string, ChainHead>();
  for (const partition of await monthsBefore(session, before)) {
    const text = `SELECT DISTINCT ON (chain) chain, seq, encode(hash, 'hex') FROM ${partition} ORDER BY chain, seq DESC`;
    for (const head of (await session.run({ text })).map(headFrom)) {
      if (head.seq > (heads.get(head.chain)?.seq ?? 0)) heads.set(head.chain, head);
    }
  }
  return [...heads.values()].sort((a, b) => (a.chain < b.chain ? -1 : 1));
}
