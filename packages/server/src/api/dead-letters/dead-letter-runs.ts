import type { Logger } from "pino";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus } from "../../ports/bus.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type {
  DeadLetterAction,
  DeadLetterFilter,
  DeadLetterRun,
  SettledLetter,
  StoreDeadLetters,
} from "../../ports/store-dead-letters.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { RunWatch } from "../run-watch.ts";
import { hintRows } from "../submit/hints.ts";

/** Largest number of letters that one transaction settles. */
export const CHUNK_LETTERS = 1_000;

export interface DeadLetterDependencies {
  stores: Pick<TenantStores, "of">;
  /** `deadLetters` continues runs, of all tenants. */
  store: Pick<Store, "load"> & { readonly deadLetters: Pick<StoreDeadLetters, "advance" | "openRuns"> };
  bus: Bus;
  runtime: Runtime;
  log: Logger;
}

/**
 * Settles dead letters: a list of ids at once, or all matches of a filter chunk by chunk. Any node can continue a run
 * after the node that started it was killed.
 */
export class DeadLetterRuns {
  readonly #deps: DeadLetterDependencies;
  readonly #watch: RunWatch;

  constructor(deps: DeadLetterDependencies) {
    this.#deps = deps;
    this.#watch = new RunWatch({ ...deps, what: "a run over dead letters", work: () => this.#work() });
  }

  /** Continues unfinished runs, now and every few seconds. */
  start(): void {
    this.#watch.look();
  }

  close(): void {
    this.#watch.close();
  }

  /**
   * Settles the letters with these ids, at most 1,000. @throws {StoreUnavailable} some of it may or may not have
   * happened
   */
  async settle(
    tenant: Tenant,
    action: DeadLetterAction,
    executionIds: readonly ExecutionId[],
    note?: AuditNote,
  ): Promise<SettledLetter[]> {
    const { stores, runtime } = this.#deps;
    const newIds = executionIds.map(() => runtime.uuid());
    const at = runtime.now();
    const settled = await stores.of(tenant).settleLetters({ action, executionIds, newIds, at }, note);
    await this.#hint(settled.map(({ newId }) => newId).filter((id) => id !== null));
    return settled;
  }

  /**
   * Starts a run. The run is durable when the promise resolves; the work goes on in the background. @throws
   * {StoreUnavailable} the run may or may not have started
   */
  async begin(
    tenant: Tenant,
    action: DeadLetterAction,
    filter: DeadLetterFilter,
    note?: AuditNote,
  ): Promise<DeadLetterRun> {
    const { stores, runtime } = this.#deps;
    const asked = { runId: runtime.uuid(), action, filter, createdAt: runtime.now() };
    const noted = note === undefined ? undefined : { ...note, target: asked.runId };
    const run = await stores.of(tenant).beginLetterRun(asked, noted);
    this.#watch.look();
    return { ...run, settled: 0, skipped: 0, finishedAt: null };
  }

  async #work(): Promise<void> {
    for (const runId of await this.#deps.store.deadLetters.openRuns()) await this.#goOn(runId);
  }

  async #goOn(runId: string): Promise<void> {
    const { store, runtime, log } = this.#deps;
    while (!this.#watch.isClosed) {
      const newIds = Array.from({ length: CHUNK_LETTERS }, () => runtime.uuid());
      const advance = await store.deadLetters.advance(runId, newIds, runtime.now());
      if (advance === null) return;
      await this.#hint(advance.made);
      if (!advance.isOver) continue;
      log.info({ runId }, "the api has finished a run over dead letters");
      return;
    }
  }

  /** Sends hints about new executions. Without a hint, the owners find them within a second. */
  async #hint(made: readonly ExecutionId[]): Promise<void> {
    if (made.length === 0) return;
    const rows = await this.#deps.store.load(made).catch(() => []);
    hintRows(
      this.#deps.bus,
      rows.map((row) => ({ row, payload: null })),
    );
  }
}
