import type { EpochMs, ExecutionId } from "../domain/ids.ts";
import type { Assignment, HintedRow } from "../ports/messages.ts";
import type { Store } from "../ports/store.ts";

/** Bytes of payloads kept for executions that were just submitted. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024;
const KEPT_MAX = 100_000;

interface Kept {
  payload: Uint8Array;
  /** The one attempt that it is for. Those after it may be of another version of the job, with another payload. */
  attempt: number;
}

/** Payloads on their way to workers: those that came with a hint are at hand, the others are read when they are needed. */
export class Payloads {
  readonly #store: Store;
  readonly #kept = new Map<ExecutionId, Kept>();
  #keptBytes = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  /** @param dueUntil what is due later is left in the store, with its payload */
  keep(rows: readonly HintedRow[], dueUntil: EpochMs): void {
    for (const { row, payload } of rows) {
      if (
        payload === null ||
        row.dueAt > dueUntil ||
        this.#keptBytes + payload.length > KEPT_BYTES_MAX ||
        this.#kept.has(row.id)
      )
        continue;
      this.#kept.set(row.id, { payload, attempt: row.attempt + 1 });
      this.#keptBytes += payload.length;
      // What found no room in its lane is never asked for here: the oldest go first.
      if (this.#kept.size > KEPT_MAX) this.#drop(this.#kept.keys().next().value as ExecutionId);
    }
  }

  /** Puts the payloads into the assignments. @returns null: all were at hand */
  attach(assigns: readonly Assignment[]): Promise<void> | null {
    const missing: ExecutionId[] = [];
    for (const assign of assigns) {
      if (assign.payloadBytes === 0 || assign.payload !== null) continue;
      const kept = this.#kept.get(assign.executionId);
      if (kept === undefined) missing.push(assign.executionId);
      else {
        if (kept.attempt === assign.attempt) assign.payload = kept.payload;
        else missing.push(assign.executionId);
        this.#drop(assign.executionId);
      }
    }
    return missing.length === 0 ? null : this.#read(assigns, missing);
  }

  async #read(assigns: readonly Assignment[], missing: readonly ExecutionId[]): Promise<void> {
    const read = await this.#store.payloads(missing);
    for (const assign of assigns) assign.payload ??= read.get(assign.executionId) ?? null;
  }

  #drop(id: ExecutionId): void {
    this.#keptBytes -= this.#kept.get(id)?.payload.length ?? 0;
    this.#kept.delete(id);
  }
}
