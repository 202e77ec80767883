import { hash } from "node:crypto";
import { type AuditNote, type AuditRecord, FIRST_PREV, recordOf, voidRecord } from "../domain/audit/audit-record.ts";
import type { EpochMs } from "../domain/ids.ts";

export function sha256(text: string): string {
  return hash("sha256", text, "hex");
}

/** A place of a chain whose record may or may not be in the store. */
type Doubtful = Pick<AuditRecord, "seq" | "at">;

/** Records that one transaction writes at the end of a chain. */
export interface ChainEntry {
  chain: string;
  at: EpochMs;
  /** Hash of the last record that is in the store for certain. */
  head: string;
  /** Places behind it, to be settled before the records are written. */
  doubtful: readonly Doubtful[];
  places: readonly { note: AuditNote; seq: number }[];
}

/** Writes records within a transaction. */
export interface RecordWriter {
  /** Adds a record, or sends it. The transaction must fail if it is not written. */
  add(record: AuditRecord): Promise<void>;
  /**
   * Adds a record unless there is one at its place, and waits for a transaction that may still write one.
   * @returns hash of the record that is there
   */
  settle(record: AuditRecord): Promise<string>;
}

/** End of a transaction. */
export interface Ended<T> {
  answer: T;
  /** Hash of the last record that was written; null: the transaction needed no records. */
  head: string | null;
}

/** Writes the records of an entry. @returns hash of the last one */
export async function writeEntry(entry: ChainEntry, writer: RecordWriter): Promise<string> {
  const { chain, at, doubtful, places } = entry;
  let { head } = entry;
  for (const place of doubtful) head = await writer.settle(voidRecord({ chain, ...place, prev: head }, sha256));
  for (const { note, seq } of places) {
    const record = recordOf(note, { chain, seq, at, prev: head }, sha256);
    await writer.add(record);
    head = record.hash;
  }
  return head;
}

/**
 * The chain of one node life. A record gets its place when its transaction is about to end, so records have the order of their commits,
 * and only the ends of transactions wait for each other. If a transaction fails, its record may be durable nevertheless. The next
 * transaction then settles the place: it writes a VOID record, unless the record is there. The key of the place is unique, so
 * a transaction that was believed to have failed can no longer commit after that.
 */
export class AuditChain {
  readonly chain: string;
  readonly #now: () => EpochMs;
  #seq = 0;
  #at: EpochMs = 0;
  #head = FIRST_PREV;
  #doubtful: readonly Doubtful[] = [];
  #turn: Promise<unknown> = Promise.resolve();

  /** @param chain UUID; @param now store's clock */
  constructor(chain: string, now: () => EpochMs) {
    this.chain = chain;
    this.#now = now;
  }

  /**
   * Ends a transaction with records of these notes, after the transactions before.
   * @param end writes the entry and commits
   * @throws error of `end`; the transaction may or may not be committed
   */
  append<T>(notes: readonly AuditNote[], end: (entry: ChainEntry) => Promise<Ended<T>>): Promise<T> {
    const turn = this.#turn.then(() => this.#append(notes, end));
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  async #append<T>(notes: readonly AuditNote[], end: (entry: ChainEntry) => Promise<Ended<T>>): Promise<T> {
    const at = Math.max(this.#at, Math.floor(this.#now()));
    const places = notes.map((note, index) => ({ note, seq: this.#seq + index + 1 }));
    const entry = { chain: this.chain, at, head: this.#head, doubtful: this.#doubtful, places };
    this.#at = at;
    try {
      const { answer, head } = await end(entry);
      if (head === null) return answer;
      this.#seq += places.length;
      this.#head = head;
      this.#doubtful = [];
      return answer;
    } catch (error) {
      this.#seq += places.length;
      this.#doubtful = [...this.#doubtful, ...places.map(({ seq }) => ({ seq, at }))];
      throw error;
    }
  }
}
