import type { AuditNote } from "../../../ports/store-audit.ts";
import type { AuditTrail } from "../audit-trail.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";

/** One command of a change: its name, its key, its field or member, and its value or score (of removals: an empty text). */
export type Write = readonly ["HSET" | "HDEL" | "ZADD" | "ZREM", string, string, string];

export interface Change<T> {
  answer: T;
  /** Empty: nothing changes, and the answer counts. */
  writes: readonly Write[];
  /** Value of the counter afterwards; default: one more. */
  next?: number;
  /** Level that programs need to open the store afterwards; default: that of before. */
  level?: number;
  /** Keys of which none may exist, and the answer otherwise, in which case nothing is written. */
  unless?: { keys: readonly string[]; answer: T };
}

/** Arguments of a change under a counter, without the notes. */
export function changeArguments(counter: string, known: number, change: Change<unknown>): RedisArgument[] {
  const { writes, next = known + 1, level, unless } = change;
  const absent = unless?.keys ?? [];
  const head = [counter, `${known}`, `${next}`, level === undefined ? "" : `${level}`];
  return [...head, `${absent.length}`, ...absent, `${writes.length}`, ...writes.flat()];
}

/** Changes rows under one counter of versions: a change that finds another version than it has read decides anew. */
export class Versioned {
  readonly #db: RedisConnection;
  readonly #trail: AuditTrail;
  readonly #counter: string;

  constructor(db: RedisConnection, trail: AuditTrail, counter: string) {
    this.#db = db;
    this.#trail = trail;
    this.#counter = counter;
  }

  async version(): Promise<number> {
    const [answer] = await this.#db.call([["GET", this.#db.key(this.#counter)]]);
    return Number(answer ?? 0);
  }

  /**
   * @param decide reads the rows, which are those of the version, and says what to write
   * @param isEnd whether the change ends or removes rows, which Redis takes without free memory
   */
  async change<T>(
    decide: (version: number) => Promise<Change<T>>,
    note?: AuditNote,
    { isEnd = false } = {},
  ): Promise<T> {
    for (;;) {
      const known = await this.version();
      const change = await decide(known);
      if (change.writes.length === 0) return change.answer;
      const args = changeArguments(this.#counter, known, change);
      const name = isEnd ? "ms_change_end" : "ms_change";
      const done = await this.#trail.call(name, args, note === undefined ? [] : [note], (answer) => answer === 1);
      if (done === 1) return change.answer;
      if (done === -1 && change.unless !== undefined) return change.unless.answer;
    }
  }
}
