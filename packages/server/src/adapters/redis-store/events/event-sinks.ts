import type { EpochMs, ShardId } from "../../../domain/ids.ts";
import { SHARD_COUNT } from "../../../domain/ids.ts";
import type { Retention } from "../../../ports/retention.ts";
import { type ShardBytes, SINK_KEPT_MS, type StoreEventSinks } from "../../../ports/store-event-sinks.ts";
import { EVENTS_KEPT_MS, type EventPosition } from "../../../ports/store-events.ts";
import type { RedisAnswer, RedisArgument, RedisConnection } from "../redis-connection.ts";
import { refOf, refText } from "./events.ts";

const ALL_SHARDS: readonly ShardId[] = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);

/** See StoreEventSinks. */
export function eventSinks(db: RedisConnection, now: () => EpochMs): StoreEventSinks {
  return {
    sinkPositions: async (sink, shards) => {
      const answer = await db.durably("ms_sink", sinkArguments(sink, shards, now()));
      return new Map(shards.map((shard, i) => [shard, refOf(String((answer as Buffer[])[i]))]));
    },
    advanceSink: async (sink, reached) => {
      if (reached.size > 0) await db.fcall("ms_advance_sink", [sink, ...positionArguments(reached)]);
    },
    eventBytes: async (after, shards) => {
      const args = shards.flatMap((shard) => [`${shard}`, refText(after.get(shard))]);
      return sizesOf((await db.fcall("ms_event_bytes", args)) as Buffer[]);
    },
    dropEvents: async (upTo) => {
      let dropped = 0;
      for (const [shard, ref] of upTo)
        for (let isOver = false; !isOver; ) {
          const [count, over] = (await db.durably("ms_drop_events", [`${shard}`, refText(ref)])) as number[];
          dropped += count as number;
          isOver = over === 1;
        }
      return dropped;
    },
  };
}

function sinkArguments(sink: string, shards: readonly ShardId[], now: EpochMs): RedisArgument[] {
  return [sink, `${Math.floor(now)}`, ...shards.map(String)];
}

function positionArguments(position: EventPosition): string[] {
  return [...position].flatMap(([shard, ref]) => [`${shard}`, refText(ref)]);
}

function sizesOf(answer: readonly Buffer[]): ShardBytes[] {
  return Array.from({ length: answer.length / 3 }, (_, i) => {
    const [shard, bytes, last] = answer.slice(3 * i, 3 * i + 3).map(String) as [string, string, string];
    return { shard: Number(shard), bytes: Number(bytes), last: refOf(last) };
  });
}

/** Calls a function of upkeep, with a pause behind it. */
export type PausedCall = (name: string, args: readonly (string | Buffer)[]) => Promise<RedisAnswer>;

/** Upkeep of events: names the sinks of this node, forgets those that no node names, and removes old entries that every sink has. */
export async function maintainEvents(
  call: PausedCall,
  now: EpochMs,
  { eventsMs = EVENTS_KEPT_MS, eventSinks: sinks = [] }: Retention,
): Promise<void> {
  for (const sink of sinks) await call("ms_sink", sinkArguments(sink, ALL_SHARDS, now) as string[]);
  await call("ms_forget_sinks", [`${Math.floor(now - SINK_KEPT_MS)}`]);
  const keepFrom = `${Math.floor(now - eventsMs)}`;
  for (let shard = 0; shard < SHARD_COUNT; ) shard = Number(await call("ms_retire_events", [`${shard}`, keepFrom]));
}
