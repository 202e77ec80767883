import type { Candidate } from "../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../domain/ids.ts";
import type { Assignment } from "../ports/messages.ts";
import type { Store } from "../ports/store.ts";

/** Payloads kept for executions that were just submitted: at most twice so many, and twice so many bytes of them. */
const GENERATION_BYTES_MAX = 32 * 1024 * 1024;
const GENERATION_MAX = 50_000;

interface Kept {
  payload: Uint8Array;
  /** The one attempt that it is for. Those after it may be of another version of the job, with another payload. */
  attempt: number;
}

/** What is looked at of a `HintedRow`, and of an `Assignment`. */
interface Hinted {
  row: Pick<Candidate, "id" | "dueAt" | "attempt">;
  payload: Uint8Array | null;
}
type Assigned = Pick<Assignment, "executionId" | "attempt" | "payload" | "payloadBytes">;

/** Payloads on their way to workers: those that came with a hint are at hand, the others are read when they are needed. */
export class Payloads {
  readonly #store: Pick<Store, "payloads">;
  /**
   * The newest, and those before them, which are forgotten as a whole: what was turned away by its lane, or cancelled, is
   * perhaps never asked for. Looking for the oldest of a Map from which the oldest are deleted takes ever longer.
   */
  #young = new Map<ExecutionId, Kept>();
  #old = new Map<ExecutionId, Kept>();
  #youngBytes = 0;

  constructor(store: Pick<Store, "payloads">) {
    this.#store = store;
  }

  /** @param dueUntil what is due later is left in the store, with its payload */
  keep(rows: readonly Hinted[], dueUntil: EpochMs): void {
    for (const { row, payload } of rows) {
      if (payload === null || row.dueAt > dueUntil || this.#find(row.id) !== undefined) continue;
      if (this.#young.size >= GENERATION_MAX || this.#youngBytes >= GENERATION_BYTES_MAX) this.#age();
      this.#young.set(row.id, { payload, attempt: row.attempt + 1 });
      this.#youngBytes += payload.length;
    }
  }

  /** Puts the payloads into the assignments. @returns null: all were at hand */
  attach(assigns: readonly Assigned[]): Promise<void> | null {
    const missing: ExecutionId[] = [];
    for (const assign of assigns) {
      if (assign.payloadBytes === 0 || assign.payload !== null) continue;
      const kept = this.#find(assign.executionId);
      if (kept === undefined) missing.push(assign.executionId);
      else {
        if (kept.attempt === assign.attempt) assign.payload = kept.payload;
        else missing.push(assign.executionId);
        this.#drop(assign.executionId);
      }
    }
    return missing.length === 0 ? null : this.#read(assigns, missing);
  }

  async #read(assigns: readonly Assigned[], missing: readonly ExecutionId[]): Promise<void> {
    const read = await this.#store.payloads(missing);
    for (const assign of assigns) assign.payload ??= read.get(assign.executionId) ?? null;
  }

  #find(id: ExecutionId): Kept | undefined {
    return this.#young.get(id) ?? this.#old.get(id);
  }

  #age(): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  #drop(id: ExecutionId): void {
    const young = this.#young.get(id);
    if (young === undefined) this.#old.delete(id);
    else {
      this.#youngBytes -= young.payload.length;
      this.#young.delete(id);
    }
  }
}
