import type { ExecutionId } from "../domain/ids.ts";

/**
 * Recent writes that memory alone cannot defend against an older read, by the number of the batch that wrote them:
 *
 * - executions that left memory, and those that are to be born of planned instants
 * - executions that are in memory by the word of a hint, which no read has confirmed, at every write of theirs: a read from
 *   before it says nothing about the hint
 * - recurring jobs whose plan was advanced
 * - commands that were obeyed
 *
 * A read that began before that batch was answered may still show such a row as it was before, so its copy is ignored;
 * so is a hint or a command that comes again. Kept until every such read is over.
 */
export class Touched {
  readonly #batchOf = new Map<ExecutionId, number>();
  #byBatch: { number: number; ids: ExecutionId[] }[] = [];

  add(id: ExecutionId, batch: number): void {
    this.#batchOf.set(id, batch);
    const last = this.#byBatch.at(-1);
    if (last?.number === batch) last.ids.push(id);
    else this.#byBatch.push({ number: batch, ids: [id] });
  }

  /** @param since the oldest batch that was not answered when the read began */
  hides(id: ExecutionId, since: number): boolean {
    const batch = this.#batchOf.get(id);
    return batch !== undefined && batch >= since;
  }

  /** Forgets what no read that is under way or still to begin can see stale. */
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
