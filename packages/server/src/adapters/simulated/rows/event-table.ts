import { type EpochMs, SHARD_COUNT, type ShardId } from "../../../domain/ids.ts";
import { type ShardBytes, SINK_KEPT_MS } from "../../../ports/store-event-sinks.ts";
import {
  BEFORE_ALL,
  compareRefs,
  type EventPosition,
  type EventRef,
  type EventRow,
  type InboxRef,
} from "../../../ports/store-events.ts";
import type { InboxEvents } from "../../../ports/told-events.ts";
import { byText } from "../sorted-list.ts";

interface Kept {
  row: EventRow;
  writtenAt: EpochMs;
}

/** Positions of a sink, and the instant at which a node last had it in its configuration. */
interface Sink {
  at: Map<ShardId, EventRef>;
  namedAt: EpochMs;
}

/** Kept lifecycle events, and the inbox of those that owners of shards have yet to keep. */
export class EventTable {
  readonly #rows = new Map<ShardId, Kept[]>();
  readonly #inbox = new Map<string, InboxEvents>();
  readonly #floors = new Map<ShardId, EventRef>();
  readonly #sinks = new Map<string, Sink>();

  /** A copy with the same content. */
  copy(): EventTable {
    const copy = new EventTable();
    for (const [shard, rows] of this.#rows) copy.#rows.set(shard, [...rows]);
    for (const [id, events] of this.#inbox) copy.#inbox.set(id, events);
    for (const [shard, floor] of this.#floors) copy.#floors.set(shard, floor);
    for (const [name, { at, namedAt }] of this.#sinks) copy.#sinks.set(name, { at: new Map(at), namedAt });
    return copy;
  }

  leave(members: readonly InboxEvents[]): void {
    for (const member of members) this.#inbox.set(member.id, member);
  }

  /** Takes members out of the inbox of a shard. @returns those that were there, in the order of their ids */
  take(shard: ShardId, ids: readonly string[]): InboxEvents[] {
    const taken = [...new Set(ids)].sort(byText).flatMap((id) => this.#inbox.get(id) ?? []);
    const own = taken.filter((member) => member.shard === shard);
    for (const { id } of own) this.#inbox.delete(id);
    return own;
  }

  keep(row: EventRow, writtenAt: EpochMs): void {
    const rows = this.#rows.get(row.shard) ?? [];
    rows.splice(firstAfter(rows, row), 0, { row, writtenAt });
    this.#rows.set(row.shard, rows);
  }

  /** See StoreEvents.read. */
  read(after: EventPosition, limit: number, shards: ReadonlySet<ShardId> | null): EventRow[] | null {
    const isAsked = (shard: ShardId) => shards === null || shards.has(shard);
    for (const [shard, floor] of this.#floors)
      if (isAsked(shard) && compareRefs(after.get(shard) ?? BEFORE_ALL, floor) < 0) return null;
    const perShard = Math.ceil(limit / (shards?.size ?? SHARD_COUNT));
    const found = [...this.#rows].flatMap(([shard, rows]) => {
      if (!isAsked(shard)) return [];
      const first = firstAfter(rows, after.get(shard) ?? BEFORE_ALL);
      return rows.slice(first, first + perShard);
    });
    return found.slice(0, limit).map(({ row }) => ({ ...row, events: [...row.events] }));
  }

  newest(): EventPosition {
    const newest = new Map(this.oldest());
    for (const [shard, rows] of this.#rows) {
      const last = rows.at(-1)?.row;
      if (last !== undefined) newest.set(shard, { epoch: last.epoch, seq: last.seq });
    }
    return newest;
  }

  oldest(): EventPosition {
    return new Map(this.#floors);
  }

  readInbox(shards: ReadonlySet<ShardId>, known: ReadonlySet<string>, limit: number): InboxRef[] {
    const open = [...this.#inbox.values()].filter(({ id, shard }) => shards.has(shard) && !known.has(id));
    return open
      .map(({ id, shard }) => ({ id, shard }))
      .sort((a, b) => byText(a.id, b.id))
      .slice(0, limit);
  }

  hasInbox(shards: ReadonlySet<ShardId>): boolean {
    for (const { shard } of this.#inbox.values()) if (shards.has(shard)) return true;
    return false;
  }

  /** Ids of all members of the inbox. */
  inboxIds(): string[] {
    return [...this.#inbox.keys()];
  }

  forgetBefore(keepFrom: EpochMs): void {
    for (const [shard, rows] of this.#rows) {
      const isGone = ({ row, writtenAt }: Kept) => writtenAt < keepFrom && this.#isEverywhere(row);
      const last = rows.filter(isGone).at(-1)?.row;
      if (last === undefined) continue;
      this.#floors.set(shard, { epoch: last.epoch, seq: last.seq });
      this.#rows.set(
        shard,
        rows.filter((kept) => !isGone(kept)),
      );
    }
  }

  /** Registers sinks, and forgets those that no node has named for a day. */
  nameSinks(names: readonly string[], now: EpochMs): void {
    const shards = Array.from({ length: SHARD_COUNT }, (_, shard) => shard);
    for (const name of names) this.sinkPositions(name, shards, now);
    for (const [name, { namedAt }] of this.#sinks) if (namedAt < now - SINK_KEPT_MS) this.#sinks.delete(name);
  }

  /** See StoreEventSinks. */
  sinkPositions(name: string, shards: readonly ShardId[], now: EpochMs): EventPosition {
    const sink = this.#sinks.get(name) ?? { at: new Map<ShardId, EventRef>(), namedAt: now };
    this.#sinks.set(name, sink);
    sink.namedAt = Math.max(sink.namedAt, now);
    for (const shard of shards) if (!sink.at.has(shard)) sink.at.set(shard, this.#floors.get(shard) ?? BEFORE_ALL);
    return new Map(shards.map((shard) => [shard, sink.at.get(shard) ?? BEFORE_ALL]));
  }

  /** See StoreEventSinks. */
  advanceSink(name: string, reached: EventPosition): void {
    const at = this.#sinks.get(name)?.at;
    for (const [shard, ref] of reached) {
      const known = at?.get(shard);
      if (known !== undefined && compareRefs(ref, known) > 0) at?.set(shard, ref);
    }
  }

  /** See StoreEventSinks.eventBytes. A row has 100 bytes and 50 for each event. */
  eventBytes(after: EventPosition, shards: readonly ShardId[]): ShardBytes[] {
    return shards.flatMap((shard) => {
      const kept = this.#rows.get(shard) ?? [];
      const rows = kept.slice(firstAfter(kept, after.get(shard) ?? BEFORE_ALL));
      const last = rows.at(-1)?.row;
      const bytes = rows.reduce((sum, { row }) => sum + 100 + 50 * row.events.length, 0);
      return last === undefined ? [] : [{ shard, bytes, last: { epoch: last.epoch, seq: last.seq } }];
    });
  }

  /** See StoreEventSinks.dropEvents. */
  dropUpTo(upTo: EventPosition): number {
    let dropped = 0;
    for (const [shard, last] of upTo) {
      const rows = this.#rows.get(shard) ?? [];
      const left = rows.slice(firstAfter(rows, last));
      dropped += rows.length - left.length;
      this.#rows.set(shard, left);
      if (compareRefs(this.#floors.get(shard) ?? BEFORE_ALL, last) < 0) this.#floors.set(shard, last);
    }
    return dropped;
  }

  #isEverywhere(row: EventRow): boolean {
    for (const { at } of this.#sinks.values()) {
      const known = at.get(row.shard);
      if (known !== undefined && compareRefs(known, row) < 0) return false;
    }
    return true;
  }
}

/** Index of the first row behind a position, in rows that are in order. */
function firstAfter(rows: readonly Kept[], position: EventRef): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compareRefs((rows[middle] as Kept).row, position) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
