import type { EpochMs, ExecutionId, Incarnation, ShardId } from "../../domain/ids.ts";
import type { DueEntry } from "../../ports/due-window.ts";
import type { WorkerStatus } from "../../ports/messages.ts";
import {
  type AskedCancels,
  CANCELS_KEPT_MS,
  CANCELS_MAX,
  REGISTRY_GATEWAYS_MAX,
  REGISTRY_KEPT_MS,
  type SideIndex,
} from "../../ports/side-index.ts";

/** Way of a call to the index and back. It runs the call, or throws IndexUnavailable before or after that. */
export type IndexCall = <T>(run: () => T) => Promise<T>;

interface WrittenEntry {
  writtenMs: EpochMs;
  workers: readonly WorkerStatus[];
}

/** Content of the index at an earlier time. */
export interface IndexCopy {
  readonly entries: readonly (readonly [Incarnation, WrittenEntry])[];
  readonly cancels: readonly (readonly [ExecutionId, EpochMs])[];
  readonly window: readonly DueEntry[];
  readonly marks: readonly (readonly [Incarnation, string])[];
}

/** Content of a simulated index beside the store, once for all nodes. */
export class IndexData {
  readonly #now: () => EpochMs;
  readonly #entries = new Map<Incarnation, WrittenEntry>();
  readonly #cancels = new Map<ExecutionId, EpochMs>();
  readonly #window = new Map<ExecutionId, DueEntry>();
  readonly #marks = new Map<Incarnation, string>();
  readonly #removed: (executionIds: readonly ExecutionId[]) => void;
  #version = 0;

  /** @param now clock of the index. @param removed called when cancellations leave the set */
  constructor(now: () => EpochMs, removed: (executionIds: readonly ExecutionId[]) => void = () => undefined) {
    this.#now = now;
    this.#removed = removed;
  }

  /** Forgets everything, as Redis does after FLUSHALL or a restart without its data. */
  flush(): void {
    this.#entries.clear();
    this.#cancels.clear();
    this.#window.clear();
    this.#marks.clear();
    this.#version++;
  }

  /** The present content, for `goBack`. */
  copy(): IndexCopy {
    return {
      entries: [...this.#entries],
      cancels: [...this.#cancels],
      window: [...this.#window.values()],
      marks: [...this.#marks],
    };
  }

  /** Puts back an earlier content, as a failover to a replica that lacks the last writes does. */
  goBack({ entries, cancels, window, marks }: IndexCopy): void {
    this.flush();
    for (const [gateway, entry] of entries) this.#entries.set(gateway, entry);
    for (const [executionId, at] of cancels) this.#cancels.set(executionId, at);
    for (const [node, mark] of marks) this.#marks.set(node, mark);
    this.#addDue(window);
  }

  /** Cancellations in the set. */
  get cancels(): ReadonlyMap<ExecutionId, EpochMs> {
    return this.#cancels;
  }

  /** The index as a node sees it. */
  index(call: IndexCall): SideIndex {
    return {
      workers: {
        write: (gateway, workers) => call(() => this.#write(gateway, structuredClone(workers))),
        forget: (gateway) => call(() => void this.#entries.delete(gateway)),
        read: (except) => call(() => this.#read(except)),
      },
      cancels: {
        add: (executionId, askedAt) => call(() => this.#add(executionId, askedAt)),
        read: (known) => call(() => this.#readCancels(known)),
        remove: (executionIds) => call(() => this.#remove(executionIds)),
      },
      window: {
        add: (entries) => call(() => this.#addDue(entries)),
        mark: (node, mark) => call(() => void this.#marks.set(node, mark)),
        due: (node, shards, dueUntil, limit) => call(() => this.#due(node, shards, dueUntil, limit)),
        remove: (entries) => call(() => entries.forEach(({ executionId }) => void this.#window.delete(executionId))),
      },
    };
  }

  #write(gateway: Incarnation, workers: readonly WorkerStatus[]): void {
    // The order of the map is that of the last words.
    this.#entries.delete(gateway);
    this.#entries.set(gateway, { writtenMs: this.#now(), workers });
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= REGISTRY_GATEWAYS_MAX) return;
      this.#entries.delete(oldest);
    }
  }

  #read(except: ReadonlySet<Incarnation>) {
    const now = this.#now();
    return [...this.#entries].flatMap(([gateway, { writtenMs, workers }]) => {
      const ageMs = Math.max(0, now - writtenMs);
      return ageMs >= REGISTRY_KEPT_MS || except.has(gateway) ? [] : [{ gateway, ageMs, workers }];
    });
  }

  #add(executionId: ExecutionId, askedAt: EpochMs): boolean {
    for (const [known, at] of this.#cancels) if (at <= askedAt - CANCELS_KEPT_MS) this.#cancels.delete(known);
    if (this.#cancels.size >= CANCELS_MAX && !this.#cancels.has(executionId)) return false;
    this.#cancels.set(executionId, askedAt);
    this.#version++;
    return true;
  }

  #addDue(entries: readonly DueEntry[]): void {
    for (const entry of entries) this.#window.set(entry.executionId, entry);
  }

  #due(node: Incarnation, shards: readonly ShardId[], dueUntil: EpochMs, limit: number) {
    const of = new Set(shards);
    const isDue = ({ shard, dueAt }: DueEntry) => of.has(shard) && dueAt <= dueUntil;
    const due = [...this.#window.values()].filter(isDue).sort((a, b) => a.dueAt - b.dueAt);
    return { entries: due.slice(0, limit), mark: this.#marks.get(node) ?? null };
  }

  #readCancels(known: string | null): AskedCancels | null {
    const version = String(this.#version);
    if (version === known) return null;
    const cancels = Array.from(this.#cancels, ([executionId, askedAt]) => ({ executionId, askedAt }));
    return { version, cancels: cancels.sort((a, b) => a.askedAt - b.askedAt) };
  }

  #remove(executionIds: readonly ExecutionId[]): void {
    this.#removed(executionIds.filter((executionId) => this.#cancels.delete(executionId)));
    this.#version++;
  }
}
