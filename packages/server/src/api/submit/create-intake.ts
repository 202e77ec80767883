import type { Bus } from "../../ports/bus.ts";
import type { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { ApiMetrics } from "../../ports/metrics.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import type { TenantRing } from "../../security/tenant-ring.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import type { Lacking } from "../feature-gate.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import type { Quotas } from "../quotas/quotas.ts";
import { sendHints, writtenJobs } from "./hints.ts";
import { JobIntake, type IntakeDependencies as JobIntakeDependencies } from "./job-intake.ts";
import type { OwnShards } from "./own-shards.ts";
import { Submitter } from "./submitter.ts";

export interface IntakeDependencies {
  store: Pick<Store, "submit">;
  stores: Pick<TenantStores, "of">;
  bus: Bus;
  runtime: Runtime;
  clock: JobIntakeDependencies["clock"];
  metrics: ApiMetrics;
  /** The time zone data that first fires are worked out by. */
  zones: TimeZoneRules;
  orderings: PoolOrderings;
  lacking?: Lacking | undefined;
  /** Log of what the next release refuses; left out: there is none. */
  warnings?: CountedWarnings | undefined;
  ownShards: OwnShards;
  /** Tenants in the memory of the node; left out: there is only `default`. */
  tenants?: Pick<TenantRing, "get" | "hasSeveral"> | undefined;
  /** Left out: no tenant has a quota. */
  quotas?: Quotas | undefined;
}

/** The way of received jobs and workflows into the store. */
export function createIntake(deps: IntakeDependencies, submitter = createSubmitter(deps)): JobIntake {
  return new JobIntake({ ...deps, submitter });
}

/** The way of new rows into the store, and of the hints about them to their owners. */
export function createSubmitter({
  store,
  bus,
  runtime,
  metrics,
  tenants,
}: Pick<IntakeDependencies, "store" | "bus" | "runtime" | "metrics" | "tenants">): Submitter {
  return new Submitter({
    store,
    tenants,
    runtime,
    metrics,
    written: (submissions, outcomes) => {
      const jobs = writtenJobs(submissions, outcomes);
      metrics.submitted(jobs.length);
      return sendHints(bus, jobs, runtime);
    },
  });
}
