import type { ExecutionId } from "../domain/ids.ts";

/**
 * Rows that were written recently, with the number of the batch that wrote them. An older read may still show such a
 * row as it was before, and memory alone could not tell. The rows are:
 *
 * - executions that left memory, and executions that will be created for planned instants
 * - executions that are in memory only by a hint, which no read has confirmed, at each of their writes: a read from
 * before a write says nothing about the hint
 * - recurring jobs whose plan was advanced
 * - commands that were applied
 *
 * The machine ignores the copy of such a row in a read that began before the batch was answered, and likewise a
 * repeated hint or command. An entry is kept until every such read is over.
 */
export class RecentWrites {
  readonly #batchOf = new Map<ExecutionId, number>();
  #byBatch: { number: number; ids: ExecutionId[] }[] = [];

  add(id: ExecutionId, batch: number): void {
    this.#batchOf.set(id, batch);
    const last = this.#byBatch.at(-1);
    if (last?.number === batch) last.ids.push(id);
    else this.#byBatch.push({ number: batch, ids: [id] });
  }

  /**
   * Whether a read may show an outdated copy of this row.
   * @param since number of the oldest batch that was unanswered when the read began
   */
  hides(id: ExecutionId, since: number): boolean {
    const batch = this.#batchOf.get(id);
    return batch !== undefined && batch >= since;
  }

  /**
   * Forgets writes that all present and future reads show.
   * @param oldestSince the smallest `since` of all reads under way
   */
  prune(oldestSince: number): void {
    let done = 0;
    for (const { number, ids } of this.#byBatch) {
      if (number >= oldestSince) break;
      for (const id of ids) if (this.#batchOf.get(id) === number) this.#batchOf.delete(id);
      done++;
    }
    if (done > 0) this.#byBatch = this.#byBatch.slice(done);
  }

  get size(): number {
    return this.#batchOf.size;
  }
}
