import type { EpochMs } from "../../../domain/ids.ts";
import { type RecordPosition } from "../../../domain/ingest.ts";
import { idTimeMs } from "../../../domain/occurrence-id.ts";
import type { IngestRecord, IngestRefusal, RefusedRecord, StoreIngest } from "../../../ports/store-ingest.ts";
import type { RequestEnd } from "../../../ports/store-requests.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { int4s, int8s, uuids } from "../connection/arrays.ts";
import type { Connections, Row, Session } from "../connection/connections.ts";
import type { TakeInParts } from "../requests/take-in.ts";
import { readEntries, SPAN } from "./entries.ts";
import { takeInRecords } from "./take-in.ts";

const POSITIONS = "SELECT partition, topic, next_offset, replay_until FROM ingest_positions ORDER BY partition";

const OPEN = `
  INSERT INTO ingest_positions (partition, topic, next_offset, replay_until, updated_at)
  SELECT p, $1::uuid, 0, coalesce((
    SELECT max(r.first_offset) + ${SPAN} FROM ingest_records r WHERE r.partition = p AND r.topic = $1), 0), $3::int8
  FROM unnest($2::int4[]) p
  ON CONFLICT (partition) DO UPDATE SET topic = excluded.topic, next_offset = 0, replay_until = excluded.replay_until,
    updated_at = $3
  WHERE ingest_positions.topic <> excluded.topic`;

const REWIND = `
  UPDATE ingest_positions SET next_offset = $4, replay_until = greatest(replay_until, next_offset), updated_at = $5
  WHERE partition = $1 AND topic = $2 AND next_offset = $3 AND $4 <= next_offset RETURNING 1`;

/** The rows that may have the record, the newest first, and its refusal. */
const GET = `
  SELECT p.next_offset, r.first_offset, r.taken_at, r.entries, f.recorded_at, f.problem
  FROM ingest_positions p
  LEFT JOIN ingest_records r ON r.partition = p.partition AND r.topic = p.topic
    AND r.first_offset > $2::int8 - ${SPAN} AND r.first_offset <= $2
  LEFT JOIN ingest_refusals f ON f.partition = p.partition AND f.topic = p.topic AND f.record_offset = $2
  WHERE p.partition = $1 ORDER BY r.taken_at DESC`;

const REFUSED = `
  SELECT f.partition, f.record_offset, f.refused_at, f.recorded_at, f.problem
  FROM ingest_refusals f JOIN ingest_positions p ON p.partition = f.partition AND p.topic = f.topic
  WHERE $1::int8 IS NULL OR (f.refused_at, f.partition, f.record_offset) < ($1, $2::int4, $3::int8)
  ORDER BY f.refused_at DESC, f.partition DESC, f.record_offset DESC LIMIT $4`;

const UNTOLD = `
  SELECT topic, partition, record_offset, recorded_at, problem, content_type, value, value_bytes FROM ingest_refusals
  WHERE NOT is_told AND partition = ANY($1::int4[]) ORDER BY refused_at LIMIT $2`;

const TOLD = `
  UPDATE ingest_refusals f SET is_told = true, value = NULL
  FROM (SELECT unnest($1::int4[]) AS partition, unnest($2::uuid[]) AS topic, unnest($3::int8[]) AS record_offset) t
  WHERE f.partition = t.partition AND f.topic = t.topic AND f.record_offset = t.record_offset`;

/** See StoreIngest. */
export function ingest(db: Connections, trail: AuditTrail, parts: TakeInParts): StoreIngest {
  const now = () => Math.floor(parts.now());
  return {
    positions: async () => {
      const rows = (await db.run("query", { text: POSITIONS })) as [number, string, number, number][];
      return rows.map(([partition, topic, next, replayUntil]) => ({ partition, topic, next, replayUntil }));
    },
    open: async (topic, partitions) => {
      await db.run("submit", { text: OPEN, values: [topic, int4s(partitions, (one) => one), now()] });
    },
    takeIn: (portion, judge) => takeInRecords(db, trail, portion, judge, parts),
    rewind: async ({ partition, topic, from, to }, note) => {
      const values = [partition, topic, from, to, now()];
      return (await trail.run("submit", note, { text: REWIND, values })).length > 0;
    },
    get: async (position) => recordFrom(position, await db.run("query", { text: GET, values: valuesOf(position) })),
    refused: async (before, limit) => {
      const values = [before?.refusedAt ?? null, before?.partition ?? null, before?.offset ?? null, limit];
      return (await db.run("query", { text: REFUSED, values })).map(refusedFrom);
    },
    untold: async (partitions, limit) => {
      const values = [int4s(partitions, (one) => one), limit];
      return (await db.run("query", { text: UNTOLD, values })).map(refusalFrom);
    },
    told: async (refusals) => {
      const [partition, topic] = [int4s(refusals, (one) => one.partition), uuids(refusals, (one) => one.topic)];
      await db.run("submit", { text: TOLD, values: [partition, topic, int8s(refusals, ({ offset }) => offset)] });
    },
  };
}

function valuesOf({ partition, offset }: RecordPosition): unknown[] {
  return [partition, offset];
}

function recordFrom({ offset }: RecordPosition, rows: readonly Row[]): IngestRecord | null {
  const [first] = rows as [number, ...unknown[]][];
  if (first === undefined) return null;
  const [next] = first;
  for (const row of rows) {
    const [, from, takenAt, bytes, recordedAt, problem] = row as [
      ...[next: number, from: number | null, takenAt: EpochMs, bytes: Buffer],
      ...[recordedAt: number | null, problem: string | null],
    ];
    const entry = from === null ? undefined : readEntries({ first: from, bytes }).find((one) => one.offset === offset);
    if (entry === undefined) continue;
    const end: RequestEnd = entry.end.state === "REFUSED" ? { state: "REFUSED", problem: problem ?? "{}" } : entry.end;
    return { createdAt: createdAt(recordedAt, entry.id), finishedAt: takenAt, end };
  }
  return offset < next ? null : { createdAt: null, finishedAt: null, end: null };
}

/** Time of a refused record, if that is an instant, or of the id. */
function createdAt(recordedAt: number | null, id: string): EpochMs {
  return instantOr(recordedAt, idTimeMs(id));
}

function instantOr(recordedAt: number | null, otherwise: EpochMs): EpochMs {
  const isInstant = recordedAt !== null && recordedAt >= 0 && recordedAt < 253_402_300_800_000;
  return isInstant ? Math.floor(recordedAt) : otherwise;
}

function refusedFrom(row: Row): RefusedRecord {
  const [partition, offset, refusedAt, recordedAt, problem] = row as [number, number, EpochMs, number, string];
  return { partition, offset, refusedAt, createdAt: instantOr(recordedAt, refusedAt), problem };
}

function refusalFrom(row: Row): IngestRefusal {
  const [topic, partition, offset, timestamp, problem, contentType, value, valueBytes] = row as [
    ...[topic: string, partition: number, offset: number, timestamp: number, problem: string],
    ...[contentType: string | null, value: Buffer | null, valueBytes: number],
  ];
  return { topic, partition, offset, timestamp, problem, contentType, value, valueBytes };
}

const DAY_MS = 86_400_000;
const PAGE = 1_000;

const RETIRE = (table: string, column: string) => `
  DELETE FROM ${table} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${table} WHERE ${column} < $1 LIMIT ${PAGE})) RETURNING 1`;

/** Removes what is known of records, once executions of that time need not be kept any more. */
export async function retireRecords(session: Session, now: EpochMs, days: number): Promise<void> {
  const tables = [
    ["ingest_records", "taken_at"],
    ["ingest_refusals", "refused_at"],
  ] as const;
  for (const [table, column] of tables) {
    const statement = { text: RETIRE(table, column), values: [now - days * DAY_MS] };
    while ((await session.run(statement)).length === PAGE);
  }
}
