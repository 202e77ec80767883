import type { Candidate } from "../../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Store } from "../../ports/store.ts";

/** Payloads kept for executions that were just submitted: at most twice so many, and twice so many bytes of them. */
const GENERATION_BYTES_MAX = 32 * 1024 * 1024;
const GENERATION_MAX = 50_000;

/** Fields that a `HintedRow` and an `Assignment` share. */
interface Hinted {
  row: Pick<Candidate, "id" | "dueAt" | "attempt">;
  payload: Uint8Array | null;
}
type Assigned = Pick<Assignment, "executionId" | "attempt" | "payload" | "payloadBytes">;

/**
 * Payloads on their way to workers: those that came with a hint are at hand for the first attempt, the others are read when
 * they are needed. A later attempt may be of another version of the job, with another payload.
 */
export class Payloads {
  readonly #store: Pick<Store, "payloads">;
  /**
   * The newest, and those before them, which are forgotten as a whole: what was turned away by its lane, or cancelled, is
   * perhaps never asked for. Looking for the oldest of a Map from which the oldest are deleted takes ever longer.
   */
  #young = new Map<ExecutionId, Uint8Array>();
  #old = new Map<ExecutionId, Uint8Array>();
  #youngBytes = 0;

  constructor(store: Pick<Store, "payloads">) {
    this.#store = store;
  }

  /** @param dueUntil what is due later is left in the store, with its payload */
  keep(rows: readonly Hinted[], dueUntil: EpochMs): void {
    for (const { row, payload } of rows) {
      if (payload === null || row.dueAt > dueUntil || row.attempt > 0) continue;
      if (this.#young.size >= GENERATION_MAX || this.#youngBytes >= GENERATION_BYTES_MAX) this.#age();
      // A hint that comes again has the same payload; nobody looks whether there is one, because that costs as much as
      // to put it.
      this.#young.set(row.id, payload);
      this.#youngBytes += payload.length;
    }
  }

  /** Puts the payloads into the assignments. @returns null: all were at hand */
  attach(assigns: readonly Assigned[]): Promise<void> | null {
    const missing: ExecutionId[] = [];
    for (const assign of assigns) {
      if (assign.payloadBytes === 0 || assign.payload !== null) continue;
      const kept = this.#take(assign.executionId);
      if (kept === undefined || assign.attempt > 1) missing.push(assign.executionId);
      else assign.payload = kept;
    }
    return missing.length === 0 ? null : this.#read(assigns, missing);
  }

  async #read(assigns: readonly Assigned[], missing: readonly ExecutionId[]): Promise<void> {
    const read = await this.#store.payloads(missing);
    for (const assign of assigns) assign.payload ??= read.get(assign.executionId) ?? null;
  }

  #age(): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  #take(id: ExecutionId): Uint8Array | undefined {
    const old = this.#old.get(id);
    if (old !== undefined) {
      this.#old.delete(id);
      return old;
    }
    const young = this.#young.get(id);
    if (young === undefined) return undefined;
    this.#youngBytes -= young.length;
    this.#young.delete(id);
    return young;
  }
}
