import type { ExecutionFilter as AskedFilter, ExecutionRunRequest } from "@mainspring/contract";
import type { Logger } from "pino";
import { isFinal } from "../../domain/execution.ts";
import type { EpochMs } from "../../domain/ids.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import {
  added,
  type BeginOutcome,
  type Chunk,
  type ChunkItem,
  type ExecutionRun,
  type ExecutionRunAction,
  type HeldRun,
  OPEN_RUNS_MAX,
} from "../../ports/store-execution-runs.ts";
import type { BoundedCount, ExecutionFilter } from "../../ports/store-queries.ts";
import { tenantOf } from "../../security/tenant.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { Commands } from "../commands.ts";
import { busy, invalid, ProblemError, problem } from "../http/errors.ts";
import type { JobRuns } from "../jobs/job-runs.ts";
import { RunWatch } from "../run-watch.ts";
import { cancel } from "./cancel-route.ts";
import { filterOf } from "./execution-filter.ts";
import type { ExecutionReader } from "./execution-reader.ts";

/** Largest number of executions in a chunk. */
export const CHUNK_EXECUTIONS = 100;
/** Executions of a chunk that the node cancels or retries at the same time. */
const AT_ONCE = 8;
/** Time for which a node holds a run, in milliseconds. A chunk that takes longer may be repeated by another node, which changes nothing. */
const HELD_MS = 30_000;
const RETRY_AFTER_SEC = 5;

export interface ExecutionRunDependencies {
  stores: Pick<TenantStores, "of">;
  store: Pick<Store, "executionRuns">;
  reader: Pick<ExecutionReader, "read" | "list">;
  commands: Pick<Commands, "give">;
  jobRuns: Pick<JobRuns, "retry">;
  runtime: Runtime;
  log: Logger;
}

/**
 * Cancels or retries all executions that match a filter, as stored runs. A run reads the list of executions page by page,
 * the newest first, and treats each execution as a single request would. Any node can continue a run.
 */
export class ExecutionRuns {
  readonly #deps: ExecutionRunDependencies;
  readonly #watch: RunWatch;

  constructor(deps: ExecutionRunDependencies) {
    this.#deps = deps;
    this.#watch = new RunWatch({ ...deps, what: "a run over executions", work: () => this.#work() });
  }

  /** Continues unfinished runs, now and every few seconds. */
  start(): void {
    this.#watch.look();
  }

  close(): void {
    this.#watch.close();
  }

  /**
   * Counts the executions of a run, without one. Rows are about a second behind the executions.
   * @throws {ProblemError} 400: the action cannot have the filter
   */
  async preview(tenant: Tenant, asked: ExecutionRunRequest): Promise<BoundedCount> {
    return await this.#count(tenant, asked, this.#deps.runtime.now());
  }

  async #count(tenant: Tenant, { action, filter }: ExecutionRunRequest, now: EpochMs): Promise<BoundedCount> {
    const own = this.#deps.stores.of(tenant);
    const asked = runFilter(action, filterOf(own, filter, now, "filter."), now);
    // Rows do not say SCHEDULED: PENDING ones may be, so the list asks their owners.
    if (asked.state !== "SCHEDULED") return await own.queries.countListed(asked);
    const { items, next } = await this.#deps.reader.list(tenant, asked, { after: null, limit: 1_000 });
    return { matching: items.length, hasMore: next !== null };
  }

  /**
   * Starts a run. The run is durable when the promise resolves; the work goes on in the background.
   * @param idempotencyKey null: none
   * @throws {ProblemError} 400 as a preview; 422: another run has the key; 429: too many runs of the tenant are open
   */
  async begin(
    tenant: Tenant,
    asked: ExecutionRunRequest,
    idempotencyKey: string | null,
    note?: AuditNote,
  ): Promise<Extract<BeginOutcome, { run: ExecutionRun }>> {
    const { stores, runtime } = this.#deps;
    // The run reads its filter by the same time, so a filter that is right now stays so.
    const createdAt = runtime.now();
    const expected = await this.#count(tenant, asked, createdAt);
    const { action, filter } = asked;
    const run = { runId: runtime.uuid(), action, filter: JSON.stringify(filter), createdAt };
    const noted = note === undefined ? undefined : { ...note, target: run.runId };
    const outcome = await stores.of(tenant).beginExecutionRun({ ...run, idempotencyKey, expected }, noted);
    if (outcome.kind === "KEY_REUSED") throw new ProblemError(problem("idempotency-key-reused"));
    if (outcome.kind === "TOO_MANY") {
      const text = `${OPEN_RUNS_MAX} runs over executions have not ended: wait for one, or stop it`;
      throw busy("too-many-requests", text, RETRY_AFTER_SEC);
    }
    this.#watch.look();
    return outcome;
  }

  /**
   * Gives each open run a chunk in turn, so that no run waits for the end of another. A run that fails does not keep the others from
   * their turn.
   * @throws error of the first run that failed, when all others have ended
   */
  async #work(): Promise<void> {
    const { store, runtime } = this.#deps;
    const failures: unknown[] = [];
    const held: HeldRun[] = [];
    do {
      for (const runId of await store.executionRuns.open(runtime.now())) {
        if (this.#watch.isClosed) return;
        const taken = await store.executionRuns.take(runId, runtime.now(), runtime.now() + HELD_MS);
        if (taken !== null) held.push(taken);
      }
      for (const run of held.splice(0)) {
        if (this.#watch.isClosed) return;
        const next = await this.#advance(run).catch((error: unknown) => void failures.push(error));
        if (next) held.push(next);
      }
    } while (held.length > 0);
    if (failures.length > 0) throw failures[0];
  }

  /** Works on one chunk of a run. @returns the run as this node holds it; null: the run has ended, or another node has it */
  async #advance(held: HeldRun): Promise<HeldRun | null> {
    const { store, runtime, log } = this.#deps;
    const chunk = held.chunk ?? (await this.#nextChunk(held));
    if (!(await store.executionRuns.plan(held, chunk, runtime.now() + HELD_MS))) return null;
    const { next } = chunk;
    const outcome = { ...(await this.#carryOut(held.run, chunk.items)), next };
    const isOpen = await store.executionRuns.account(held, outcome, runtime.now(), next === null);
    if (isOpen && next === null) log.info({ runId: held.runId }, "the api has finished a run over executions");
    return isOpen && next !== null ? { ...held, marker: next, chunk: null } : null;
  }

  async #nextChunk({ run, marker }: HeldRun): Promise<Chunk> {
    const { stores, reader, runtime } = this.#deps;
    const tenant = tenantOf(run.tenant);
    const asked = filterOf(stores.of(tenant), JSON.parse(run.filter) as AskedFilter, run.createdAt);
    const filter = runFilter(run.action, asked, run.createdAt);
    const { items, next } = await reader.list(tenant, filter, { after: marker, limit: CHUNK_EXECUTIONS });
    return { items: items.map(({ executionId }) => ({ executionId, newId: runtime.uuid() })), next };
  }

  async #carryOut(run: ExecutionRun, items: readonly ChunkItem[]) {
    const left = [...items];
    let done = 0;
    let refusals: Record<string, number> = {};
    const work = async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) {
        const refusal = await this.#refusalOf(run, item);
        if (refusal === null) done++;
        else refusals = added(refusals, { [refusal]: 1 });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return { done, refusals };
  }

  /** Cancels or retries one execution. @returns name of the problem that keeps it as it is; null: done */
  async #refusalOf(run: ExecutionRun, item: ChunkItem): Promise<string | null> {
    const tenant = tenantOf(run.tenant);
    try {
      await (run.action === "CANCEL"
        ? cancel(this.#deps, tenant, item.executionId, undefined)
        : this.#retry(tenant, item));
      return null;
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      return error.problem.type.replace("/problems/", "");
    }
  }

  /** Retries an execution, unless the node that had the chunk before has done so. */
  async #retry(tenant: Tenant, { executionId, newId }: ChunkItem): Promise<void> {
    const { stores, jobRuns } = this.#deps;
    const isThere = async () => (await stores.of(tenant).queries.getExecution(newId)) !== null;
    if (await isThere()) return;
    try {
      await jobRuns.retry(tenant, executionId, false, undefined, newId);
    } catch (error) {
      // The answer to an earlier try was lost, or another node works on the same chunk.
      if (!(await isThere())) throw error;
    }
  }
}

/**
 * Filter of the executions that a run lists: only those that the action is for, and that were there at its start.
 * @throws {ProblemError} 400: the action is not for the state
 */
function runFilter(action: ExecutionRunAction, filter: ExecutionFilter, createdAt: EpochMs): ExecutionFilter {
  const { state, until = createdAt } = filter;
  const bounded = { ...filter, until: Math.min(until, createdAt) };
  if (action === "CANCEL") {
    if (state === undefined) return { ...bounded, isOpen: true };
    if (!isFinal(state)) return bounded;
    throw wrongState("must be PENDING, SCHEDULED or RUNNING, or be left out: only what is not final can be cancelled");
  }
  if (state !== undefined && isFinal(state)) return bounded;
  throw wrongState(
    "must be SUCCEEDED, CANCELLED, SKIPPED or DEAD: RETRY needs the final state of the executions to run again",
  );
}

function wrongState(message: string): ProblemError {
  return new ProblemError(invalid([{ field: "filter.state", message }]));
}
