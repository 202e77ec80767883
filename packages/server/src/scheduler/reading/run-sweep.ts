import type { ShardId } from "../../domain/ids.ts";
import type { Input } from "../../engine/inputs.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { DueCursor } from "../../ports/store-flows.ts";

/** Runs of one page. The machine reads those that it does not have, so a page bounds that work, too. */
const PAGE = 100;
/** Time in ms from the end of one round through all open runs to the next one. */
const ROUND_MS = 10_000;

interface SweepParts {
  store: Pick<Store, "runs">;
  runtime: Runtime;
  shards(): ShardId[];
  take(input: Input): void;
}

/**
 * Finds open workflow runs that the machine does not have: those of shards that were taken over, and those whose news
 * was lost. Each look reads a page. The machine then does what an earlier owner has left undone.
 */
export class RunSweep {
  readonly #parts: SweepParts;
  #after: DueCursor | null = null;
  #nextAtMs = 0;

  constructor(parts: SweepParts) {
    this.#parts = parts;
  }

  /** Begins a round at once, because shards were just taken over. */
  begin(): void {
    this.#after = null;
    this.#nextAtMs = 0;
  }

  async look(): Promise<void> {
    const { store, runtime, shards, take } = this.#parts;
    if (runtime.monotonicMs() < this.#nextAtMs) return;
    const page = await store.runs.openRuns(shards(), this.#after, PAGE);
    if (page.length > 0) take({ kind: "OPEN_RUNS", runs: page.map(({ id }) => id) });
    this.#after = page.length < PAGE ? null : (page.at(-1) ?? null);
    if (this.#after === null) this.#nextAtMs = runtime.monotonicMs() + ROUND_MS;
  }
}
