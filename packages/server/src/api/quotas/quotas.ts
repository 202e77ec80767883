import type { Incarnation } from "../../domain/ids.ts";
import { burstOf, type PlaceQuota, type RateQuota } from "../../domain/quota.ts";
import { QUOTAS, type TenantRecord } from "../../domain/tenant.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { StoreQuotas } from "../../ports/store-quotas.ts";
import { DrainRate } from "./drain-rate.ts";
import { type ChargeEnd, type OverQuota, QuotaAccount } from "./quota-account.ts";
import { type QuotaName, quotaExceeded, quotaNeverFits } from "./quota-problems.ts";

/** Size of a submission. */
export interface Load {
  /** Jobs and workflows. */
  jobs: number;
  /** Executions that are written with them. */
  waiting: number;
  /** Jobs and workflows that recur. */
  recurring: number;
  /** Bytes of the largest payload. */
  payloadBytes: number;
  /** Bytes of the body of a batch or workflow; 0: the request is neither. */
  bodyBytes: number;
}

/** Part of the quotas of a tenant that a submission has taken. */
export interface Charge {
  /** Ends the charge, when the outcome of the submission is known. */
  end(end: ChargeEnd): void;
  /** The charge of a part of the submission. The parts are ended in place of the whole. */
  partOf(load: Load): Charge;
}

/** Charge of a tenant without quotas. */
export const FREE: Charge = { end: () => undefined, partOf: () => FREE };

type Limits = Pick<TenantRecord, QuotaName>;
type CountedQuota = PlaceQuota | RateQuota;

export interface QuotasDependencies {
  store: StoreQuotas;
  node: Incarnation;
  runtime: Pick<Runtime, "monotonicMs" | "setTimer">;
  /** Tenants in the memory of the node. */
  tenants: { get(name: string): Limits | undefined };
}

interface Counted {
  quota: CountedQuota;
  limit: number;
  amount: number;
}

/** Checks submits against the quotas of their tenants. */
export class Quotas {
  readonly #deps: QuotasDependencies;
  /** Accounts by quota and tenant. */
  readonly #accounts = new Map<string, QuotaAccount>();

  constructor(deps: QuotasDependencies) {
    this.#deps = deps;
  }

  /** Whether submits of the tenant have a quota. */
  limits(tenant: string): boolean {
    const limits = this.#deps.tenants.get(tenant);
    return limits !== undefined && SUBMIT_QUOTAS.some((quota) => limits[quota] !== null);
  }

  /** @throws {ProblemError} 413: the submission is larger than a quota ever allows */
  requireFit(tenant: string, load: Load): void {
    const limits = this.#deps.tenants.get(tenant);
    if (limits === undefined) return;
    const { maxPayloadBytes, maxBatchBytes } = limits;
    refuseLarger("maxPayloadBytes", maxPayloadBytes, load.payloadBytes);
    refuseLarger("maxBatchBytes", maxBatchBytes, load.bodyBytes);
    for (const { quota, limit, amount } of countedOf(limits, load)) {
      const largest = quota === "submitsPerSec" ? burstOf(limit) : limit;
      // A limit of 0 or 1 is no matter of size: an operator may raise it, and the caller has nothing to divide.
      if (amount > largest && amount > 1) throw quotaNeverFits(quota, limit, amount, largest);
    }
  }

  /**
   * Charges all of a submission, or nothing of it.
   * @throws {ProblemError} 429 or 413: over a quota
   * @throws {StoreUnavailable} nothing was charged
   */
  async charge(tenant: string, load: Load): Promise<Charge> {
    const limits = this.#deps.tenants.get(tenant);
    if (limits === undefined || !this.limits(tenant)) return FREE;
    this.requireFit(tenant, load);
    const charged: Counted[] = [];
    try {
      for (const counted of countedOf(limits, load)) {
        const refusal = await this.#account(tenant, counted).charge(counted.amount);
        if (refusal !== null) throw exceeded(counted, refusal);
        charged.push(counted);
      }
    } catch (error) {
      for (const counted of charged) this.#account(tenant, counted).end(counted.amount, "NOTHING");
      throw error;
    }
    return this.#chargeOf(tenant, limits, load);
  }

  /** Charges a request of the tenant. @returns null: it may go on. @throws {ProblemError} 429 */
  chargeRequest(tenant: string): null | Promise<void> {
    const limit = this.#deps.tenants.get(tenant)?.requestsPerSec ?? null;
    if (limit === null) return null;
    const counted = { quota: "requestsPerSec", limit, amount: 1 } as const;
    const refusal = this.#account(tenant, counted).charge(1);
    if (refusal === null) return null;
    return Promise.resolve(refusal).then((over) => {
      if (over !== null) throw exceeded(counted, over);
    });
  }

  #chargeOf(tenant: string, limits: Limits, whole: Load): Charge {
    const counted = countedOf(limits, whole);
    return {
      end: (end) => {
        for (const one of counted) this.#account(tenant, one).end(one.amount, end);
      },
      partOf: (load) => this.#chargeOf(tenant, limits, load),
    };
  }

  #account(tenant: string, { quota }: Pick<Counted, "quota">): QuotaAccount {
    const key = `${quota} ${tenant}`;
    const known = this.#accounts.get(key);
    if (known !== undefined) return known;
    const account =
      quota === "maxWaiting" || quota === "maxRecurring" ? this.#places(tenant, quota) : this.#tokens(tenant, quota);
    this.#accounts.set(key, account);
    return account;
  }

  /** Limit of now, which may have changed since the charge began; null: there is none any more. */
  #limit(tenant: string, quota: CountedQuota): number | null {
    return this.#deps.tenants.get(tenant)?.[quota] ?? null;
  }

  #tokens(tenant: string, quota: RateQuota): QuotaAccount {
    const { runtime, store } = this.#deps;
    return new QuotaAccount("TOKENS", runtime, async ({ needed, wanted }) => {
      const perSec = this.#limit(tenant, quota);
      if (perSec === null) return { taken: wanted, used: 0, waitMs: null };
      const { taken, left } = await store.takeTokens({ tenant, quota, perSec, needed, wanted });
      const used = Math.max(0, Math.ceil(burstOf(perSec) - left));
      return { taken, used, waitMs: taken > 0 ? null : ((needed - left) / perSec) * 1_000 };
    });
  }

  #places(tenant: string, quota: PlaceQuota): QuotaAccount {
    const { runtime, store, node } = this.#deps;
    const drain = new DrainRate();
    return new QuotaAccount("PLACES", runtime, async ({ needed, wanted, held }) => {
      const limit = this.#limit(tenant, quota);
      if (limit === null) return { taken: wanted, used: 0, waitMs: null };
      const answer = await store.takePlaces({ tenant, quota, limit, node, held, needed, wanted });
      const { taken, used, heldByOthers } = answer;
      const waitMs = drain.waitMs(used, taken, runtime.monotonicMs(), needed - (limit - used - heldByOthers - held));
      return { taken, used, waitMs: taken > 0 ? null : waitMs };
    });
  }
}

const SUBMIT_QUOTAS = QUOTAS.filter((quota) => quota !== "requestsPerSec");

/** Quotas of which a submission takes a part. */
function countedOf(limits: Limits, load: Load): Counted[] {
  const counted: Counted[] = [];
  const add = (quota: CountedQuota, amount: number) => {
    const limit = limits[quota];
    if (limit !== null && amount > 0) counted.push({ quota, limit, amount });
  };
  add("maxWaiting", load.waiting);
  add("maxRecurring", load.recurring);
  add("submitsPerSec", load.jobs);
  return counted;
}

function refuseLarger(quota: "maxPayloadBytes" | "maxBatchBytes", limit: number | null, bytes: number): void {
  if (limit !== null && bytes > limit) throw quotaNeverFits(quota, limit, bytes);
}

function exceeded({ quota, limit }: Counted, { used, waitMs }: OverQuota): Error {
  return quotaExceeded(quota, limit, used, waitMs);
}
