import { attemptKey, type ExecutionId } from "../../domain/ids.ts";
import type { OpenPart } from "./open-part.ts";

/**
 * Parts in the memory of a gateway, by attempt and by the tenant that owns the worker's pool, because a worker can name any attempt. A part is in one of three sets, each in the order of its entries, or its
 * write is under way.
 */
export class OpenParts {
  readonly #all = new Map<string, OpenPart>();
  /** Parts of ended attempts with lines to write. */
  readonly #closed = new Set<OpenPart>();
  /** Parts of running attempts with lines to write. */
  readonly #unwritten = new Set<OpenPart>();
  /** Parts of running attempts without lines to write. */
  readonly #written = new Set<OpenPart>();
  #memory = 0;

  /** @param tenant owner of the worker's pool; null: nobody */
  get(executionId: ExecutionId, attempt: number, tenant: string | null): OpenPart | undefined {
    return this.#all.get(keyOf({ token: { executionId, attempt }, tenant }));
  }

  get isEmpty(): boolean {
    return this.#all.size === 0;
  }

  has(part: OpenPart): boolean {
    return this.#all.get(keyOf(part)) === part;
  }

  /** Approximate memory of all parts, in bytes. */
  get memory(): number {
    return this.#memory;
  }

  get hasUnwritten(): boolean {
    return this.#closed.size + this.#unwritten.size > 0;
  }

  add(part: OpenPart): void {
    this.#all.set(keyOf(part), part);
    this.#memory += part.memory;
    this.place(part);
  }

  /** Changes a part, and moves it to its set. */
  change(part: OpenPart, change: () => void): void {
    const before = part.memory;
    change();
    this.#memory += part.memory - before;
    this.place(part);
  }

  /** Puts a part into its set. A part whose attempt has ended and that is written is forgotten. */
  place(part: OpenPart): void {
    if (part.isBeingWritten) return this.#remove(part);
    const isWritten = part.unwrittenSinceMs === null;
    if (part.isClosed && isWritten) return this.forget(part);
    const set = part.isClosed ? this.#closed : isWritten ? this.#written : this.#unwritten;
    if (set.has(part)) return;
    this.#remove(part);
    set.add(part);
  }

  /** Puts parts whose write failed back, before those with younger lines. */
  restore(parts: readonly OpenPart[]): void {
    const younger = [...this.#closed, ...this.#unwritten];
    for (const part of younger) this.#remove(part);
    for (const part of [...parts, ...younger]) this.place(part);
  }

  forget(part: OpenPart): void {
    if (!this.#all.delete(keyOf(part))) return;
    this.#memory -= part.memory;
    this.#remove(part);
  }

  /** Parts to write: those of ended attempts, and those of running ones with lines from `untilMs` or before. */
  toWrite(untilMs: number): OpenPart[] {
    const parts = [...this.#closed];
    for (const part of this.#unwritten) if ((part.unwrittenSinceMs ?? 0) <= untilMs) parts.push(part);
    return parts;
  }

  /** The part whose loss does the least harm: one that the store has, or else the one with the oldest lines. */
  leastNeeded(): OpenPart | null {
    const [[written], [closed], [running]] = [this.#written, this.#closed, this.#unwritten];
    if (written !== undefined) return written;
    if (closed === undefined || running === undefined) return closed ?? running ?? null;
    return (closed.unwrittenSinceMs ?? 0) <= (running.unwrittenSinceMs ?? 0) ? closed : running;
  }

  /** Returns some written parts of running attempts, others at the next call. */
  someWritten(limit: number): OpenPart[] {
    const some: OpenPart[] = [];
    for (const part of this.#written) {
      if (some.push(part) === limit) break;
    }
    for (const part of some) {
      this.#written.delete(part);
      this.#written.add(part);
    }
    return some;
  }

  #remove(part: OpenPart): void {
    for (const set of [this.#closed, this.#unwritten, this.#written]) set.delete(part);
  }
}

function keyOf({ token, tenant }: Pick<OpenPart, "token" | "tenant">): string {
  const key = attemptKey(token.executionId, token.attempt);
  return tenant === null ? key : `${key} ${tenant}`;
}
