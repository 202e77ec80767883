import type { Bus } from "../../ports/bus.ts";
import type { CountedWarnings } from "../../ports/counted-warnings.ts";
import type { ApiMetrics } from "../../ports/metrics.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Store } from "../../ports/store.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import type { Lacking } from "../feature-gate.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import { sendHints, writtenJobs } from "./hints.ts";
import { JobIntake, type IntakeDependencies as JobIntakeDependencies } from "./job-intake.ts";
import type { OwnShards } from "./own-shards.ts";
import { Submitter } from "./submitter.ts";

export interface IntakeDependencies {
  store: Store;
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
}

/** The way of a received job into the store, and of the hint about it to its owner. */
export function createIntake(deps: IntakeDependencies): JobIntake {
  const { store, bus, runtime, metrics } = deps;
  const submitter = new Submitter({
    store,
    runtime,
    metrics,
    written: (submissions, outcomes) => {
      const jobs = writtenJobs(submissions, outcomes);
      metrics.submitted(jobs.length);
      return sendHints(bus, jobs, runtime);
    },
  });
  return new JobIntake({ ...deps, submitter, queries: store.queries });
}
