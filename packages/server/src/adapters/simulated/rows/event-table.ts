import type { EpochMs, ShardId } from "../../../domain/ids.ts";
import type { EventPosition, EventRef, EventRow, InboxRef } from "../../../ports/store-events.ts";
import type { InboxEvents } from "../../../ports/told-events.ts";
import { byText } from "../sorted-list.ts";

interface Kept {
  row: EventRow;
  writtenAt: EpochMs;
}

/** Kept lifecycle events, and the inbox of those that owners of shards have yet to keep. */
export class EventTable {
  readonly #rows = new Map<ShardId, Kept[]>();
  readonly #inbox = new Map<string, InboxEvents>();
  readonly #floors = new Map<ShardId, EventRef>();

  /** A copy with the same content. */
  copy(): EventTable {
    const copy = new EventTable();
    for (const [shard, rows] of this.#rows) copy.#rows.set(shard, [...rows]);
    for (const [id, events] of this.#inbox) copy.#inbox.set(id, events);
    for (const [shard, floor] of this.#floors) copy.#floors.set(shard, floor);
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
    rows.push({ row, writtenAt });
    rows.sort((a, b) => compare(a.row, b.row));
    this.#rows.set(row.shard, rows);
  }

  /** See StoreEvents.read. */
  read(after: EventPosition, limit: number): EventRow[] | null {
    const none: EventRef = { epoch: 0, seq: 0 };
    for (const [shard, floor] of this.#floors) if (compare(after.get(shard) ?? none, floor) < 0) return null;
    const perShard = Math.ceil(limit / 64);
    const found = [...this.#rows].flatMap(([shard, rows]) => {
      const position = after.get(shard) ?? none;
      return rows.filter(({ row }) => compare(row, position) > 0).slice(0, perShard);
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
      const gone = rows.filter(({ writtenAt }) => writtenAt < keepFrom);
      const last = gone.at(-1)?.row;
      if (last === undefined) continue;
      this.#floors.set(shard, { epoch: last.epoch, seq: last.seq });
      this.#rows.set(
        shard,
        rows.filter(({ writtenAt }) => writtenAt >= keepFrom),
      );
    }
  }
}

function compare(a: EventRef, b: EventRef): number {
  return a.epoch - b.epoch || a.seq - b.seq;
}
