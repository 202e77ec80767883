import { type ExecutionState, isFinal } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { ExecutionFilter, ExecutionSummary, ExecutionView, Listing, Page } from "../../ports/store-queries.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { LiveView, Overlaid } from "./live.ts";
import type { Waiters } from "./waiters.ts";

/** Reads executions as they are now: their rows, with the newer data of their owners. */
export class ExecutionReader {
  readonly #stores: Pick<TenantStores, "of">;
  readonly #live: LiveView;
  readonly #waiters: Waiters;
  readonly #runtime: Runtime;

  constructor(stores: Pick<TenantStores, "of">, live: LiveView, waiters: Waiters, runtime: Runtime) {
    this.#stores = stores;
    this.#live = live;
    this.#waiters = waiters;
    this.#runtime = runtime;
  }

  /** Reads one execution. @param patienceMs longest wait for its owner; default: that of LiveView. @throws {StoreUnavailable} */
  async read(tenant: Tenant, id: ExecutionId, patienceMs?: number): Promise<Overlaid<ExecutionView> | null> {
    const row = await this.#stores.of(tenant).queries.getExecution(id);
    if (row === null) return null;
    const [view] = await this.#live.overlay([row], patienceMs);
    return view ?? row;
  }

  /**
   * Answers as soon as the execution is final, or when the time is up.
   * @param gone signal that aborts when the client no longer waits for the answer
   * @throws {ProblemError} 429 while too many requests wait
   */
  async readFinal(tenant: Tenant, id: ExecutionId, waitMs: number, gone: AbortSignal): Promise<ExecutionView | null> {
    const untilMs = this.#runtime.monotonicMs() + waitMs;
    for (;;) {
      const row = await this.#stores.of(tenant).queries.getExecution(id);
      const leftMs = untilMs - this.#runtime.monotonicMs();
      if (row === null || isFinal(row.state)) return row;
      if (leftMs <= 0 || gone.aborted || this.#waiters.closed) return this.read(tenant, id);
      await this.#pause(row, leftMs, gone);
    }
  }

  /** Resolves when the execution may be final, the time is up, or the client is gone. */
  async #pause({ executionId, shard }: ExecutionSummary, leftMs: number, gone: AbortSignal): Promise<void> {
    const waiter = this.#waiters.enter(executionId, shard);
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    const timer = this.#runtime.setTimer(leftMs, stop);
    gone.addEventListener("abort", stop, { once: true });
    try {
      await Promise.race([waiter.woken, stopped]);
    } finally {
      timer.cancel();
      gone.removeEventListener("abort", stop);
      waiter.leave();
    }
  }

  /** Adds the data of owners to rows. @throws {StoreUnavailable} */
  async overlay(rows: readonly ExecutionSummary[]): Promise<ExecutionSummary[]> {
    return this.#live.overlay(rows);
  }

  /**
   * Reads a page of a list. Rows say PENDING for executions that wait at a worker or started a moment ago, so a filter by
   * a state of work in progress is applied to the owners' data. Such a page may have fewer items than its limit although more
   * follow.
   */
  async list(tenant: Tenant, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>> {
    const { state } = filter;
    if (state === "RUNNING") return this.#listRunning(tenant, filter, page);
    if (state === "SCHEDULED") return this.#listScheduled(tenant, filter, page);
    return this.#matching(state, await this.#rows(tenant, filter, page));
  }

  /**
   * Lists SCHEDULED executions. Rows say PENDING at first, and RUNNING when the attempt has waited at its worker for 30
   * seconds. Both lists are complete only up to the end of the shorter one.
   */
  async #listScheduled(tenant: Tenant, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>> {
    const states = ["PENDING", "RUNNING"] as const;
    const lists = await Promise.all(states.map((state) => this.#rows(tenant, { ...filter, state }, page)));
    const end = lists.map(({ next }) => next ?? "").reduce((a, b) => (a > b ? a : b));
    const rows = new Map(lists.flatMap(({ items }) => items.map((row) => [row.executionId, row])));
    const complete = [...rows.values()]
      .filter(({ executionId }) => executionId >= end)
      .sort((a, b) => (a.executionId < b.executionId ? 1 : -1));
    const items = complete.slice(0, page.limit);
    const next = complete.length > items.length ? (items.at(-1)?.executionId ?? null) : end || null;
    return this.#matching("SCHEDULED", { items, next });
  }

  /** Lists RUNNING executions: rows in that state, and the newest executions that began less than a second ago. */
  async #listRunning(tenant: Tenant, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>> {
    const [old, young] = await Promise.all([
      this.#rows(tenant, filter, page).then((rows) => this.#matching("RUNNING", rows)),
      this.#rows(tenant, { ...filter, state: "PENDING" }, page).then((rows) => this.#matching("RUNNING", rows)),
    ]);
    const end = old.next ?? "";
    const items = [...old.items, ...young.items.filter(({ executionId }) => executionId > end)]
      .sort((a, b) => (a.executionId < b.executionId ? 1 : -1))
      .filter(({ executionId }, index, all) => executionId !== all[index - 1]?.executionId)
      .slice(0, page.limit);
    const cut = items.length === page.limit && items.length < old.items.length + young.items.length;
    return { items, next: cut ? (items.at(-1)?.executionId ?? null) : old.next };
  }

  async #matching(
    state: ExecutionState | undefined,
    { items, next }: Listing<ExecutionSummary>,
  ): Promise<Listing<ExecutionSummary>> {
    const live = await this.#live.overlay(items);
    return { items: live.filter((row) => state === undefined || row.state === state), next };
  }

  #rows(tenant: Tenant, filter: ExecutionFilter, page: Page): Promise<Listing<ExecutionSummary>> {
    return this.#stores.of(tenant).queries.listExecutions(filter, page);
  }
}
