import type { Logger } from "pino";
import type { Bus } from "../ports/bus.ts";
import { CountedWarnings } from "../ports/counted-warnings.ts";
import type { Leases } from "../ports/leases.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { batchRoute } from "./batch-route.ts";
import { cancelRoute } from "./cancel-route.ts";
import { changeRoutes } from "./change-routes.ts";
import { clusterRoutes } from "./cluster-routes.ts";
import { Commands } from "./commands.ts";
import { createIntake } from "./create-intake.ts";
import { deadLetterRoutes } from "./dead-letter-routes.ts";
import { DeadLetterRuns } from "./dead-letter-runs.ts";
import { collectRoutes, docsRoutes } from "./docs-routes.ts";
import { eventsRoute } from "./events-route.ts";
import { ExecutionReader } from "./execution-reader.ts";
import { executionRoutes } from "./execution-routes.ts";
import { explainRoute } from "./explain-route.ts";
import type { Lacking } from "./feature-gate.ts";
import { drainWorker, findWorker, listWorkers } from "./fleet.ts";
import { Followers } from "./followers.ts";
import { createHttpApp, type HttpApp } from "./http-app.ts";
import type { HttpLimits } from "./http-server.ts";
import { Inbox } from "./inbox.ts";
import { JobChanger } from "./job-changer.ts";
import { JobPlans } from "./job-plans.ts";
import { jobRoutes } from "./job-routes.ts";
import { ledgerRoutes } from "./ledger-routes.ts";
import { LiveView } from "./live.ts";
import { missedRoute } from "./missed-route.ts";
import { type About, nodeRoutes } from "./node-routes.ts";
import { overdueRoute } from "./overdue-route.ts";
import { planRoutes } from "./plan-routes.ts";
import { PoolChanger } from "./pool-changer.ts";
import { PoolNames } from "./pool-names.ts";
import { PoolOrders } from "./pool-orders.ts";
import { poolRoutes } from "./pool-routes.ts";
import { askPoolUses } from "./pool-uses.ts";
import { askProgress } from "./progress.ts";
import { scheduleRoutes } from "./schedule-routes.ts";
import type { ApiKeys } from "./security.ts";
import { statsRoute } from "./stats-route.ts";
import { submitRoute } from "./submit-route.ts";
import { timeZoneRoutes } from "./time-zone-routes.ts";
import { Waiters } from "./waiters.ts";
import { workerRoutes } from "./worker-routes.ts";

/** Where nothing else is said. */
const RETENTION_DAYS = 30;
const POOLS_MAX = 10_000;

export interface ApiParts {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  /** Asks the store for its time, so that `runtime.now` counts from a clock that was just set. */
  clock: { look(): Promise<void> };
  log: Logger;
  config: ApiKeys & { httpLimits?: Partial<HttpLimits>; retentionDays?: number; poolsMax?: number };
  metrics: ApiMetrics;
  about: About;
  /** Which nodes there are. */
  leases: Pick<Leases, "list" | "drain">;
  /** Left out: every node knows everything. */
  lacking?: Lacking | undefined;
}

/**
 * The HTTP API, ready to listen. Closing it ends waiting requests at once, lets the others finish, and leaves store and
 * bus as they are.
 */
export async function createApi(parts: ApiParts): Promise<HttpApp> {
  const { store, bus, runtime, log, config, metrics, about, leases, lacking } = parts;
  const app = createHttpApp({
    keys: config,
    metrics,
    log,
    runtime,
    limits: config.httpLimits,
    isStopping: about.isStopping,
  });
  const waiters = new Waiters({ bus, runtime, store });
  const inbox = new Inbox(bus, runtime, {
    final: (executionId) => waiters.final(executionId),
    chatter: (items) => followers.hear(items),
  });
  const live = new LiveView(bus, inbox, runtime);
  const followers = new Followers({ bus, runtime, live });
  const reader = new ExecutionReader(store.queries, live, waiters, runtime);
  const { zones } = about;
  const orders = new PoolOrders(store, runtime);
  const pools = new PoolNames(config.poolsMax ?? POOLS_MAX, runtime);
  const warnings = new CountedWarnings(log, runtime);
  const intake = createIntake({ ...parts, zones, orders, warnings });
  const workers = () => listWorkers(bus, inbox, runtime);
  const letters = new DeadLetterRuns({ store, bus, runtime, log });

  await collectRoutes(app, about.version);
  submitRoute(app, { intake, pools, runtime });
  batchRoute(app, { intake, pools, runtime }, log);
  jobRoutes(app, store.queries, reader, runtime);
  const commands = new Commands({ store, bus, inbox });
  cancelRoute(app, { runtime, commands, reader });
  const plans = new JobPlans({ store, runtime, zones, commands });
  const changer = new JobChanger({ ...parts, zones, commands, orders, warnings });
  changeRoutes(app, changer, pools);
  planRoutes(app, plans, changer.runs, runtime);
  const { retentionDays = RETENTION_DAYS } = config;
  ledgerRoutes(app, { plans, queries: store.queries, reader, runtime, zones, retentionDays, turns: intake.turns });
  executionRoutes(app, reader, store.queries, (id, attempt) => askProgress({ bus, inbox, runtime }, id, attempt));
  eventsRoute(app, { reader, followers, runtime });
  explainRoute(app, { store, bus, runtime, inbox, reader });
  scheduleRoutes(app, runtime, intake.turns);
  timeZoneRoutes(app, { store, zones, lacking });
  deadLetterRoutes(app, store, letters);
  overdueRoute(app, store.queries, runtime);
  missedRoute(app, about);
  const poolChanger = new PoolChanger({ store, leases, bus, inbox, runtime, orders });
  poolRoutes(app, { store, changer: poolChanger, workers, lacking, uses: () => askPoolUses({ bus, inbox, runtime }) });
  workerRoutes(app, {
    find: (workerId) => findWorker({ bus, inbox, runtime }, workerId),
    drain: (workerId) => drainWorker({ bus, inbox, runtime }, workerId),
  });
  statsRoute(app, { bus, runtime, inbox, about, queries: store.queries, workers });
  clusterRoutes(app, { bus, runtime, inbox, store, leases });
  nodeRoutes(app, { metrics, about, workers });
  await docsRoutes(app, about.version);

  app.addHook("preClose", async () => {
    waiters.close();
    followers.close();
    letters.close();
  });
  app.addHook("onClose", async () => inbox.close());
  await app.ready();
  letters.start();
  return app;
}
