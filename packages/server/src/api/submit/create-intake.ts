import type { Bus } from "../ports/bus.ts";
import type { CountedWarnings } from "../ports/counted-warnings.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import type { TimeZoneRules } from "../ports/time-zone-rules.ts";
import type { Lacking } from "./feature-gate.ts";
import { sendHints, writtenJobs } from "./hints.ts";
import { JobIntake } from "./job-intake.ts";
import type { PoolOrders } from "./pool-orders.ts";
import { Submitter } from "./submitter.ts";

export interface IntakeParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  /** Asks the store for its time, so that `runtime.now` counts from a clock that was just set. */
  clock: { look(): Promise<void> };
  metrics: ApiMetrics;
  /** The time zone data that first fires are worked out by. */
  zones: TimeZoneRules;
  orders: PoolOrders;
  lacking?: Lacking | undefined;
  /** Log of what the next release refuses; left out: there is none. */
  warnings?: CountedWarnings | undefined;
}

/** The way of a received job into the store, and of the hint about it to its owner. */
export function createIntake(parts: IntakeParts): JobIntake {
  const { store, bus, runtime, clock, metrics, zones, orders, lacking, warnings } = parts;
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
  const lookAtClock = () => clock.look();
  return new JobIntake({ submitter, orders, queries: store.queries, runtime, lookAtClock, zones, lacking, warnings });
}
