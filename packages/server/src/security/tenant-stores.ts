import type { Candidate } from "../domain/execution.ts";
import type { ExecutionId } from "../domain/ids.ts";
import type { Tenant } from "../ports/authenticator.ts";
import type { Store, Submission, SubmitOutcome } from "../ports/store.ts";
import type { AuditNote } from "../ports/store-audit.ts";
import type { PlanCommand } from "../ports/store-commands.ts";
import type { NewDeadLetterRun, Settlement, StoreDeadLetters } from "../ports/store-dead-letters.ts";
import type { NewExecutionRun, StoreExecutionRuns } from "../ports/store-execution-runs.ts";
import type { JobDeletion, JobReplacement, StoreJobs } from "../ports/store-jobs.ts";
import type { StoreQueries } from "../ports/store-queries.ts";
import type { StoreRequests } from "../ports/store-requests.ts";
import type { StoreWebhooks } from "../ports/store-webhooks.ts";
import { type PoolOf, poolsBy } from "./tenant-ring.ts";

/** A port of which each method has lost its first parameter, the tenant. */
type Bound<Port> = {
  [Name in keyof Port]: Port[Name] extends (tenant: string, ...rest: infer Rest) => infer Answer
    ? (...rest: Rest) => Answer
    : never;
};
type Unowned<T> = Omit<T, "tenant">;

const QUERIES = [
  ...(["getExecution", "listExecutions", "listRuns", "getRun", "listNodes", "getJob", "listJobs", "ledger"] as const),
  ...(["overdue", "countExecutions", "countListed"] as const),
];
const WEBHOOKS = ["list", "get", "rotate", "setDisabled", "remove", "deliveries", "replay"] as const;
const DEAD_LETTERS = ["list", "readRun"] as const;
const EXECUTION_RUNS = ["list", "get", "stop"] as const;
const REQUESTS = ["get", "list"] as const;

/** Parts of the store that the handlers of the api use for one tenant at a time. */
export type OwnedParts = Pick<
  Store,
  "queries" | "jobs" | "deadLetters" | "executionRuns" | "webhooks" | "requests" | "load"
>;

/** Gives handlers of the api the store of one tenant. */
export class TenantStores {
  readonly #parts: OwnedParts;
  readonly #poolOf: PoolOf;

  /** @param poolOf tells which pool a tenant means by a name; left out: every pool is shared */
  constructor(parts: OwnedParts, poolOf: PoolOf = poolsBy(undefined)) {
    this.#parts = parts;
    this.#poolOf = poolOf;
  }

  of(tenant: Tenant): TenantStore {
    return new TenantStore(this.#parts, tenant, this.#poolOf);
  }
}

/**
 * The store of one tenant. No method has a parameter for the tenant, so a handler cannot name another one. Rows of other
 * tenants do not exist here.
 */
export class TenantStore {
  readonly tenant: Tenant;
  readonly #parts: OwnedParts;
  readonly #poolOf: PoolOf;

  constructor(parts: OwnedParts, tenant: Tenant, poolOf: PoolOf) {
    this.#parts = parts;
    this.#poolOf = poolOf;
    this.tenant = tenant;
  }

  /** Filter for the pool that the tenant means by a name: its own one, else the shared one. @param name undefined: no filter */
  inPool(name: string | undefined): { pool?: string } {
    return name === undefined ? {} : { pool: this.#poolOf(this.tenant, name) };
  }

  get queries(): Bound<Pick<StoreQueries, (typeof QUERIES)[number]>> {
    return bound(this.#parts.queries, this.tenant, QUERIES);
  }

  get webhooks(): Bound<Pick<StoreWebhooks, (typeof WEBHOOKS)[number]>> {
    return bound(this.#parts.webhooks, this.tenant, WEBHOOKS);
  }

  get requests(): Bound<Pick<StoreRequests, (typeof REQUESTS)[number]>> {
    return bound(this.#parts.requests, this.tenant, REQUESTS);
  }

  get deadLetters(): Bound<Pick<StoreDeadLetters, (typeof DEAD_LETTERS)[number]>> {
    return bound(this.#parts.deadLetters, this.tenant, DEAD_LETTERS);
  }

  get executionRuns(): Bound<Pick<StoreExecutionRuns, (typeof EXECUTION_RUNS)[number]>> {
    return bound(this.#parts.executionRuns, this.tenant, EXECUTION_RUNS);
  }

  /** See StoreQueries.answered. An idempotency key has the tenant of the request. */
  async answered(idempotency: NonNullable<Submission["idempotency"]>): Promise<SubmitOutcome | null> {
    return await this.#parts.queries.answered({ ...idempotency, tenant: this.tenant });
  }

  /** Rows of these executions that are not final, of this tenant. Other ids are left out. */
  async load(ids: readonly ExecutionId[]): Promise<Candidate[]> {
    return (await this.#parts.load(ids)).filter(({ tenant }) => tenant === this.tenant);
  }

  replaceJob(asked: Unowned<JobReplacement>, note?: AuditNote): ReturnType<StoreJobs["replace"]> {
    return this.#parts.jobs.replace({ ...asked, tenant: this.tenant }, note);
  }

  deleteJob(asked: Unowned<JobDeletion>, note?: AuditNote): ReturnType<StoreJobs["delete"]> {
    return this.#parts.jobs.delete({ ...asked, tenant: this.tenant }, note);
  }

  orderPlan(command: PlanCommand, note?: AuditNote): ReturnType<StoreJobs["order"]> {
    return this.#parts.jobs.order(this.tenant, command, note);
  }

  settleLetters(asked: Unowned<Settlement>, note?: AuditNote): ReturnType<StoreDeadLetters["settle"]> {
    return this.#parts.deadLetters.settle({ ...asked, tenant: this.tenant }, note);
  }

  beginExecutionRun(asked: Unowned<NewExecutionRun>, note?: AuditNote): ReturnType<StoreExecutionRuns["begin"]> {
    return this.#parts.executionRuns.begin({ ...asked, tenant: this.tenant }, note);
  }

  /** @returns the run as it was begun */
  async beginLetterRun(asked: Unowned<NewDeadLetterRun>, note?: AuditNote): Promise<NewDeadLetterRun> {
    const run = { ...asked, tenant: this.tenant };
    await this.#parts.deadLetters.begin(run, note);
    return run;
  }
}

function bound<Port extends object, Name extends keyof Port>(
  port: Port,
  tenant: Tenant,
  names: readonly Name[],
): Bound<Pick<Port, Name>> {
  const methods = names.map((name) => {
    const method = port[name] as (tenant: string, ...rest: unknown[]) => unknown;
    return [name, (...rest: unknown[]) => method.call(port, tenant, ...rest)];
  });
  return Object.fromEntries(methods) as Bound<Pick<Port, Name>>;
}
