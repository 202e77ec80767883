import { type EpochMs, SHARD_COUNT, type ShardId } from "../../../domain/ids.ts";
import { type ShardBytes, SINK_KEPT_MS, type StoreEventSinks } from "../../../ports/store-event-sinks.ts";
import type { EventPosition } from "../../../ports/store-events.ts";
import { int2s, int8s } from "../connection/arrays.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";

/** Names a sink, and registers it for shards where it is new. The order of the shards keeps two nodes from a deadlock. */
const NAME_SINK = `
  INSERT INTO event_sinks (sink, shard, epoch, seq, named_at)
  SELECT $1, a.shard, coalesce(f.epoch, 0), coalesce(f.seq, 0), $3
  FROM unnest($2::int2[]) AS a (shard) LEFT JOIN event_floors f ON f.shard = a.shard ORDER BY a.shard
  ON CONFLICT (sink, shard) DO UPDATE SET named_at = greatest(event_sinks.named_at, EXCLUDED.named_at)
  RETURNING shard, epoch, seq`;

const ADVANCE_SINK = `
  UPDATE event_sinks s SET epoch = a.epoch, seq = a.seq
  FROM unnest($2::int2[], $3::int8[], $4::int8[]) AS a (shard, epoch, seq)
  WHERE s.sink = $1 AND s.shard = a.shard AND (a.epoch, a.seq) > (s.epoch, s.seq)`;

const EVENT_BYTES = `
  SELECT a.shard, o.bytes, o.epoch, o.seq
  FROM unnest($1::int2[], $2::int8[], $3::int8[]) AS a (shard, epoch, seq)
  CROSS JOIN LATERAL (
    SELECT sum(octet_length(events))::int8 AS bytes, (max(ARRAY[epoch, seq]))[1] AS epoch, (max(ARRAY[epoch, seq]))[2] AS seq
    FROM outbox WHERE shard = a.shard AND (epoch, seq) > (a.epoch, a.seq)
  ) o
  WHERE o.bytes IS NOT NULL`;

const DROP_EVENTS = `
  WITH gone AS (
    DELETE FROM outbox WHERE shard = $1 AND (epoch, seq) <= ($2, $3) RETURNING 1
  ), raised AS (
    INSERT INTO event_floors (shard, epoch, seq) VALUES ($1, $2, $3)
    ON CONFLICT (shard) DO UPDATE SET epoch = EXCLUDED.epoch, seq = EXCLUDED.seq
    WHERE (EXCLUDED.epoch, EXCLUDED.seq) > (event_floors.epoch, event_floors.seq)
  )
  SELECT count(*)::int4 FROM gone`;

const FORGET_SINKS = "DELETE FROM event_sinks s WHERE named_at < $1";

export function eventSinks(db: Connections, now: () => EpochMs): StoreEventSinks {
  return {
    sinkPositions: async (sink, shards) => positionOf(await db.run("query", nameSink(sink, shards, now()))),
    advanceSink: async (sink, reached) => {
      const entries = [...reached];
      const columns = [
        int2s(entries, ([shard]) => shard),
        int8s(entries, ([, { epoch }]) => epoch),
        int8s(entries, ([, { seq }]) => seq),
      ];
      await db.run("query", { name: "advance_sink", text: ADVANCE_SINK, values: [sink, ...columns] });
    },
    eventBytes: async (after, shards) => {
      const values = [
        int2s(shards, (shard) => shard),
        int8s(shards, (shard) => after.get(shard)?.epoch ?? 0),
        int8s(shards, (shard) => after.get(shard)?.seq ?? 0),
      ];
      const rows = await db.run("maintain", { text: EVENT_BYTES, values });
      return rows.map((row) => sizeOf(row as [ShardId, number, number, number]));
    },
    dropEvents: async (upTo) => {
      let dropped = 0;
      for (const [shard, { epoch, seq }] of upTo) {
        const [row] = await db.run("maintain", { text: DROP_EVENTS, values: [shard, epoch, seq] });
        dropped += row?.[0] as number;
      }
      return dropped;
    },
  };
}

/** Names sinks of this node, so that rows of all shards wait for them. */
export async function nameSinks(session: Session, sinks: readonly string[], now: EpochMs): Promise<void> {
  const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
  for (const sink of sinks) await session.run(nameSink(sink, shards, now));
}

/** Forgets sinks that no node names any more. */
export async function forgetSinks(session: Session, now: EpochMs): Promise<void> {
  await session.run({ text: FORGET_SINKS, values: [now - SINK_KEPT_MS] });
}

function nameSink(sink: string, shards: readonly ShardId[], now: EpochMs): Statement {
  return { name: "name_sink", text: NAME_SINK, values: [sink, int2s(shards, (shard) => shard), now] };
}

function sizeOf([shard, bytes, epoch, seq]: [ShardId, number, number, number]): ShardBytes {
  return { shard, bytes, last: { epoch, seq } };
}

function positionOf(rows: readonly unknown[][]): EventPosition {
  return new Map(rows.map(([shard, epoch, seq]) => [shard as ShardId, { epoch: epoch as number, seq: seq as number }]));
}
