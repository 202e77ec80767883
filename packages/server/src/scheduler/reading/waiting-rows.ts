import type { Candidate } from "../../domain/execution.ts";
import { SWEEP_AHEAD_MS, WindowCoverage } from "../../domain/hot-window.ts";
import type { EpochMs, ExecutionId, Incarnation, ShardId } from "../../domain/ids.ts";
import { DEFAULT_LIMITS } from "../../engine/inputs.ts";
import { type DueEntry, type DueWindow, WINDOW_MS } from "../../ports/due-window.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";

/**
 * Time in ms before its due time from which an execution is not put into the window, because the machine keeps it. The difference is longer
 * than a commit may take, in which the machine may have left out an execution that is nearer by now.
 */
const IN_MEMORY_MS = DEFAULT_LIMITS.horizonMs - 5_000;

interface WaitingRowsOptions {
  store: Pick<Store, "readWaiting" | "load">;
  window: DueWindow;
  node: Incarnation;
  runtime: Pick<Runtime, "now" | "uuid">;
  /** Whether the machine has the execution in memory. */
  knows(executionId: ExecutionId): boolean;
}

/**
 * Reads of rows that are due soon, which ask the window beside the store first. Every half minute, and whenever the window may lack something,
 * a read sweeps the store: it looks half a minute further ahead, and puts what it finds into the window.
 */
export class WaitingRows {
  readonly #options: WaitingRowsOptions;
  readonly #coverage = new WindowCoverage();

  constructor(options: WaitingRowsOptions) {
    this.#options = options;
  }

  /** See Store.readWaiting. */
  async read(shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<Candidate[]> {
    if (this.#coverage.asksStore(shards, dueUntil)) return this.#sweep(shards, dueUntil, limit);
    return (await this.#look(shards, dueUntil, limit)) ?? this.#sweep(shards, dueUntil, limit);
  }

  /** Executions were written that the machine does not keep until they are due soon. */
  written(rows: readonly Pick<Candidate, "id" | "shard" | "dueAt">[]): void {
    const { window, runtime } = this.#options;
    const now = runtime.now();
    const entries = rows.flatMap(({ id, shard, dueAt }) =>
      dueAt > now + IN_MEMORY_MS && dueAt <= now + WINDOW_MS ? [{ shard, executionId: id, dueAt }] : [],
    );
    if (entries.length > 0) window.add(entries).catch(() => this.#coverage.lost());
  }

  async #sweep(shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<Candidate[]> {
    const { store, window, node, runtime } = this.#options;
    const mark = runtime.uuid();
    // A write that the window misses from here on must end this coverage, too.
    this.#coverage.swept(shards, Number.NEGATIVE_INFINITY, mark);
    const rows = await store.readWaiting(shards, dueUntil + SWEEP_AHEAD_MS, limit);
    const last = rows.at(-1);
    // Rows that are due at the same time as the last one may be left out.
    const until = last !== undefined && rows.length >= limit ? last.dueAt - 1 : dueUntil + SWEEP_AHEAD_MS;
    try {
      // Rows that are due soon are among them, because the machine may leave out one that it has just written.
      await window.add(rows.map(({ id, shard, dueAt }) => ({ shard, executionId: id, dueAt })));
      await window.mark(node, mark);
      if (this.#coverage.isWhole(mark)) this.#coverage.swept(shards, until, mark);
    } catch {
      // The link says that the window is away.
      this.#coverage.lost();
    }
    return rows.filter(({ dueAt }) => dueAt <= dueUntil);
  }

  /** @returns null: the window cannot say it */
  async #look(shards: readonly ShardId[], dueUntil: EpochMs, limit: number): Promise<Candidate[] | null> {
    const { store, window, node, knows } = this.#options;
    const found = await window.due(node, shards, dueUntil, limit).catch(() => null);
    if (found === null || !this.#coverage.isWhole(found.mark)) {
      this.#coverage.lost();
      return null;
    }
    const unknown = earliest(
      found.entries.filter(({ executionId }) => !knows(executionId)),
      limit,
    );
    const rows = unknown.length === 0 ? [] : await store.load(unknown.map(({ executionId }) => executionId));
    const waiting = rows.filter(({ queue, dueAt }) => queue === "WAITING" && dueAt <= dueUntil);
    // An entry stays until a later look finds its execution in memory, because the machine may have left its row out.
    const asked = new Set(unknown.map(({ executionId }) => executionId));
    for (const { id } of waiting) asked.delete(id);
    const done = found.entries.filter(({ executionId }) => asked.has(executionId) || knows(executionId));
    if (done.length > 0) window.remove(done).catch(() => this.#coverage.lost());
    return waiting.sort((a, b) => a.dueAt - b.dueAt || (a.id < b.id ? -1 : 1));
  }
}

function earliest(entries: readonly DueEntry[], limit: number): readonly DueEntry[] {
  if (entries.length <= limit) return entries;
  return [...entries].sort((a, b) => a.dueAt - b.dueAt).slice(0, limit);
}
