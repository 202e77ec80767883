import type { TenantState } from "@mainspring/contract/enums";

export type { TenantState } from "@mainspring/contract/enums";

/** Weight of a tenant that nobody has set: its share of a pool's slots beside other tenants that have work there. */
export const DEFAULT_WEIGHT = 100;

/** Share and limits of a tenant. null: no limit. */
export interface TenantSettings {
  /** Share beside other tenants that have work in the same pool; 1 to 1000. */
  weight: number;
  /** Attempts that may be at workers at once. */
  maxRunning: number | null;
  /** Executions that may wait. */
  maxWaiting: number | null;
  /** Recurring jobs that are not deleted. */
  maxRecurring: number | null;
  /** Jobs that it may submit in a second, on average. */
  submitsPerSec: number | null;
  requestsPerSec: number | null;
  maxPayloadBytes: number | null;
  maxBatchBytes: number | null;
  /** Days for which final executions are kept; null: as long as the server keeps them. */
  retentionDays: number | null;
  /** Pools that it may use, in which `*` stands for any characters; null: every pool. */
  pools: readonly string[] | null;
}

/** Settings of a tenant that limit what it submits. */
export const QUOTAS = [
  ...(["maxWaiting", "maxRecurring", "submitsPerSec", "requestsPerSec", "maxPayloadBytes", "maxBatchBytes"] as const),
] satisfies readonly (keyof TenantSettings)[];

export const TENANT_DEFAULTS: TenantSettings = {
  weight: DEFAULT_WEIGHT,
  ...{ maxRunning: null, maxWaiting: null, maxRecurring: null, submitsPerSec: null, requestsPerSec: null },
  ...{ maxPayloadBytes: null, maxBatchBytes: null, retentionDays: null, pools: null },
};

/** A tenant: whose jobs, executions and keys are apart from those of all others. */
export interface TenantRecord extends TenantSettings {
  name: string;
  state: TenantState;
}

/** Shares that an owner tells the others at a time. Tenants with fewer attempts are left out. */
export const TOLD_SHARES_MAX = 2_000;
/** Largest number of tenants beside `default`. */
export const TENANTS_MAX = 10_000;
