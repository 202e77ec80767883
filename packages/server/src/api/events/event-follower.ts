import type { ShardId } from "../../domain/ids.ts";
import type { LifecycleEvent } from "../../domain/lifecycle-event.ts";
import { type EventPosition, type EventRef, type EventRow, isBefore } from "../../ports/store-events.ts";
import type { Turns } from "../../ports/turns.ts";
import type { EventStream } from "../executions/event-stream.ts";
import { eventLines } from "./cloud-event.ts";
import { type EventFeed, PAGE_ROWS } from "./event-feed.ts";
import { covers, encodePosition } from "./position-token.ts";

/** Number of characters that a follower writes at once. */
const CHUNK_CHARS = 32 * 1024;

/** The answer to a client, as far as a follower uses it. */
export type FollowerStream = Pick<EventStream, "isOpen" | "sendLines" | "drained">;

export interface EventFollowerDependencies {
  feed: EventFeed;
  turns: Turns;
  isWanted: (event: LifecycleEvent) => boolean;
  /** Position at which the stream ends; null: it does not end. */
  until: EventPosition | null;
}

/**
 * Sends one client the events behind its position. A follower that is behind the rows in the memory of the node reads
 * pages of the store of its own until it meets them.
 */
export class EventFollower {
  readonly #deps: EventFollowerDependencies;
  readonly #position: Map<ShardId, EventRef>;
  #page: readonly EventRow[] | null;
  /** Number of the next row in the memory of the node; null: the follower reads pages of the store. */
  #next: number | null = null;
  /** Whether the position is that of the node after the same row. Until then, a follower may be ahead in some shards. */
  #isEven = false;
  /** Position that the client has got. */
  #sent = "";
  /** Whether the position has changed since the client got it. */
  #hasMoved = true;

  /** @param first rows behind the position that were read already; null: none */
  constructor(deps: EventFollowerDependencies, position: EventPosition, first: readonly EventRow[] | null) {
    this.#deps = deps;
    this.#position = new Map(position);
    // The node may have read rows since an empty page was read, so the follower reads again.
    this.#page = first === null || first.length === 0 ? null : first;
  }

  /** Lines that tell the client a position behind rows without wanted events; empty: the client has it. */
  progress(): string {
    if (!this.#hasMoved) return "";
    this.#hasMoved = false;
    const token = encodePosition(this.#position);
    if (token === this.#sent) return "";
    this.#sent = token;
    return `id: ${token}\n\n`;
  }

  /**
   * Sends events until the client is gone, the feed is closed, or the end is reached.
   * @throws {StoreUnavailable} the client reconnects, and gets the error then if it persists
   */
  async run(stream: FollowerStream, gone: AbortSignal): Promise<void> {
    stream.sendLines(this.progress());
    while (stream.isOpen && !gone.aborted && !this.#deps.feed.isClosed) {
      if (this.#next !== null) await this.#sendLogged(stream, gone);
      else if (!(await this.#sendPage(stream, gone))) return;
    }
  }

  /** @returns whether the stream goes on */
  async #sendPage(stream: FollowerStream, gone: AbortSignal): Promise<boolean> {
    const { feed, until } = this.#deps;
    const number = feed.log.end;
    const known = feed.position === null ? null : new Map(feed.position);
    const page = this.#page ?? (await feed.events.read(this.#position, PAGE_ROWS));
    this.#page = null;
    // The store has removed rows that the client has not got. It is told so when it comes back with its position.
    if (page === null) return false;
    for (const row of page) await this.#sendRow(stream, row, (index) => linesOf(row, index), null);
    const isEmpty = page.length === 0;
    if (until !== null && (isEmpty || covers(this.#position, until))) {
      stream.sendLines(`event: end\nid: ${encodePosition(this.#position)}\ndata: {}\n\n`);
      return false;
    }
    // A stream that ends reads on to its end in the store: only pages are compared with the end.
    if (until === null && known !== null && (isEmpty || covers(this.#position, known))) {
      this.#next = number;
      this.#isEven = false;
    } else if (isEmpty) await feed.has(number, gone);
    return true;
  }

  async #sendLogged(stream: FollowerStream, gone: AbortSignal): Promise<void> {
    const { feed } = this.#deps;
    const number = this.#next ?? feed.log.end;
    const logged = feed.log.at(number);
    if (logged === undefined) return await feed.has(number, gone);
    this.#next = logged === null ? null : number + 1;
    if (logged === null) return;
    const token = this.#isEven ? logged.token : null;
    await this.#sendRow(stream, logged.row, (index) => logged.lines(index), token);
    this.#isEven ||= this.#next === feed.log.end && feed.position !== null && covers(feed.position, this.#position);
  }

  /** @param token position behind the row; null: that of this follower */
  async #sendRow(
    stream: FollowerStream,
    row: EventRow,
    lines: (index: number) => string,
    token: string | null,
  ): Promise<void> {
    const known = this.#position.get(row.shard);
    if (known !== undefined && !isBefore(known, row)) return;
    const { turns, isWanted } = this.#deps;
    let chunk = "";
    let last = "";
    for (const [index, event] of row.events.entries()) {
      if (turns.isOver) await turns.next();
      if (!isWanted(event)) continue;
      if (last !== "") chunk += `${last}\n`;
      last = lines(index);
      if (chunk.length < CHUNK_CHARS) continue;
      stream.sendLines(chunk);
      chunk = "";
      await stream.drained();
      if (!stream.isOpen) return;
    }
    this.#position.set(row.shard, { epoch: row.epoch, seq: row.seq });
    this.#hasMoved = true;
    if (last === "") return;
    this.#sent = token ?? encodePosition(this.#position);
    stream.sendLines(`${chunk}${last}id: ${this.#sent}\n\n`);
    await stream.drained();
  }
}

function linesOf(row: EventRow, index: number): string {
  const event = row.events[index];
  return event === undefined ? "" : eventLines(event);
}
