import type { Logger } from "pino";
import type { Authenticator, Tenant } from "../ports/authenticator.ts";
import type { Bus } from "../ports/bus.ts";
import type { CertificateSource } from "../ports/certificates.ts";
import { CountedWarnings } from "../ports/counted-warnings.ts";
import type { Leases } from "../ports/leases.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Refusals } from "../ports/refusals.ts";
import type { RequestLog } from "../ports/request-log.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { SideIndex } from "../ports/side-index.ts";
import type { Store } from "../ports/store.ts";
import type { StoreEvents } from "../ports/store-events.ts";
import { settingsAuthenticator } from "../security/key-authenticator.ts";
import { SessionSeal } from "../security/session-seal.ts";
import type { ApiKeys } from "../security/settings-keys.ts";
import { tenantOf } from "../security/tenant.ts";
import { allowedBy, isStoppedBy, poolsBy, type TenantRing } from "../security/tenant-ring.ts";
import { TenantStores } from "../security/tenant-stores.ts";
import { demandAuditWays, noteSubmits } from "./audit/audit-notes.ts";
import { auditRoutes } from "./audit/audit-routes.ts";
import { auditReads } from "./audit/audited-reads.ts";
import { noteRefusals } from "./audit/noted-refusals.ts";
import { drainWorker, findWorker, listWorkers } from "./cluster/ask-gateways.ts";
import { clusterRoutes } from "./cluster/cluster-routes.ts";
import { type About, nodeRoutes } from "./cluster/node-routes.ts";
import { statsRoute } from "./cluster/stats-route.ts";
import { timeZoneRoutes } from "./cluster/time-zone-routes.ts";
import { workerRoutes } from "./cluster/worker-routes.ts";
import { Commands } from "./commands.ts";
import { ConsoleFiles } from "./console/console-files.ts";
import { consoleRoutes } from "./console/console-routes.ts";
import { deadLetterRoutes } from "./dead-letters/dead-letter-routes.ts";
import { DeadLetterRuns } from "./dead-letters/dead-letter-runs.ts";
import { EventFeed } from "./events/event-feed.ts";
import { lifecycleEventsRoute } from "./events/lifecycle-events-route.ts";
import { cancelRoute } from "./executions/cancel-route.ts";
import { CancelSettler } from "./executions/cancel-settler.ts";
import { eventsRoute } from "./executions/events-route.ts";
import { ExecutionReader } from "./executions/execution-reader.ts";
import { executionRoutes } from "./executions/execution-routes.ts";
import { executionRunRoutes } from "./executions/execution-run-routes.ts";
import { explainer, explainRoute } from "./executions/explain-route.ts";
import { Followers } from "./executions/followers.ts";
import { LiveView } from "./executions/live.ts";
import { logsRoutes } from "./executions/logs-routes.ts";
import { askProgress } from "./executions/progress.ts";
import { signalRoute } from "./executions/signal-route.ts";
import { StreamSeats } from "./executions/stream-seats.ts";
import { Waiters } from "./executions/waiters.ts";
import type { Lacking } from "./feature-gate.ts";
import { handlerRoutes } from "./handlers/handler-routes.ts";
import { JobHandlers } from "./handlers/job-handlers.ts";
import { collectRoutes, docsRoutes } from "./http/docs-routes.ts";
import { createHttpApp, type HttpApp } from "./http/http-app.ts";
import type { HttpLimits } from "./http/http-server.ts";
import { shareAnswers } from "./http/shared-answers.ts";
import { Inbox } from "./inbox.ts";
import { changeRoutes } from "./jobs/change-routes.ts";
import { JobChanger } from "./jobs/job-changer.ts";
import { jobRoutes } from "./jobs/job-routes.ts";
import { keyRoutes, tellKeysChanged } from "./keys/key-routes.ts";
import { sessionRoutes } from "./keys/session-routes.ts";
import { PoolChanger } from "./pools/pool-changer.ts";
import { PoolNames } from "./pools/pool-names.ts";
import { PoolOrderings } from "./pools/pool-orderings.ts";
import { poolRoutes } from "./pools/pool-routes.ts";
import { askPoolUses } from "./pools/pool-uses.ts";
import { limitRequests } from "./quotas/limit-requests.ts";
import { Quotas } from "./quotas/quotas.ts";
import { JobPlans } from "./recurring/job-plans.ts";
import { ledgerRoutes } from "./recurring/ledger-routes.ts";
import { missedRoute } from "./recurring/missed-route.ts";
import { overdueRoute } from "./recurring/overdue-route.ts";
import { planRoutes } from "./recurring/plan-routes.ts";
import { scheduleRoutes } from "./recurring/schedule-routes.ts";
import { ingestRoutes } from "./requests/ingest-routes.ts";
import { JobAcceptor, type JobAcceptorDependencies } from "./requests/job-acceptor.ts";
import { JobRequestJudge } from "./requests/request-judge.ts";
import { requestRoutes } from "./requests/request-routes.ts";
import { RequestTaker } from "./requests/request-taker.ts";
import { seriesRoute } from "./series/series-route.ts";
import { batchRoute } from "./submit/batch-route.ts";
import { createIntake, createSubmitter, type IntakeDependencies } from "./submit/create-intake.ts";
import type { JobMaker } from "./submit/new-job.ts";
import { OwnShards } from "./submit/own-shards.ts";
import { type SubmitDependencies, submitRoute } from "./submit/submit-route.ts";
import { TenantRemovals } from "./tenants/tenant-removals.ts";
import { tenantRoutes } from "./tenants/tenant-routes.ts";
import { webhookRoutes } from "./webhooks/webhook-routes.ts";
import type { WebhookRules } from "./webhooks/webhook-rules.ts";
import { cancelWorkflowRoute } from "./workflows/cancel-workflow-route.ts";
import { runExplainer } from "./workflows/explain-run.ts";
import { graphRoute } from "./workflows/graph-route.ts";
import { orderWorkflowRoutes } from "./workflows/order-workflow-routes.ts";
import { retryWorkflowRoute } from "./workflows/retry-workflow-route.ts";
import { RunFollowers } from "./workflows/run-followers.ts";
import { RunReader } from "./workflows/run-picture.ts";
import { signalNodeRoute } from "./workflows/signal-node-route.ts";
import { submitWorkflowRoute } from "./workflows/submit-workflow-route.ts";
import { workflowEventsRoute } from "./workflows/workflow-events-route.ts";
import { workflowItemRoutes } from "./workflows/workflow-item-routes.ts";
import { workflowNodeRoutes } from "./workflows/workflow-node-routes.ts";
import { WorkflowRetrier } from "./workflows/workflow-retrier.ts";
import { workflowRoutes } from "./workflows/workflow-routes.ts";
import { WorkflowSubmitter, type WorkflowSubmitterDependencies } from "./workflows/workflow-submitter.ts";

/** Default of the retention of final executions, in days. */
const RETENTION_DAYS = 30;
const POOLS_MAX = 10_000;

export interface ApiDependencies {
  store: Store;
  bus: Bus;
  runtime: Runtime;
  clock: IntakeDependencies["clock"];
  log: Logger;
  config: ApiKeys & {
    httpLimits?: Partial<HttpLimits>;
    retentionDays?: number;
    streamsMax?: number;
    poolsMax?: number;
    audit?: { submits: "off" | "batch" };
    logUrl?: string | null;
    /** Secrets of the cluster, by which its nodes open each other's sessions; null or left out: there is none. */
    clusterSecret?: string | null;
    clusterSecretAlso?: string | null;
  };
  /** Left out: the keys of `config` are the only ones. */
  authenticator?: Authenticator | undefined;
  /** Tenants of the store; left out: there is only `default`. */
  tenants?: Pick<TenantRing, "all" | "get" | "hasSeveral" | "allowsPool" | "poolOf"> | undefined;
  /** Reads changes of API keys from the store; left out: the node knows no keys of the store. */
  refreshKeys?: (() => Promise<void>) | undefined;
  /** Counts refusals for the audit log; left out: nothing does. */
  refusals?: Refusals | undefined;
  metrics: ApiMetrics;
  about: About;
  /** Certificate of the server; left out or null: it speaks plain HTTP. */
  certificates?: CertificateSource | null;
  /** Known nodes of the cluster. */
  leases: Pick<Leases, "list" | "drain">;
  /** Kept events; left out: the servers keep none. */
  events?: StoreEvents | undefined;
  /** Webhooks that the servers send; left out: they send none. */
  webhooks?: WebhookRules | undefined;
  /** Way of jobs through the log of requests; null, the default: there is none. */
  ingest?:
    | (Pick<JobAcceptorDependencies, "sender" | "mode"> & { requestLog: RequestLog; tenant?: () => Tenant })
    | null;
  /** Whether the node takes in requests of applications; default: no. */
  takesRequests?: boolean;
  /** Whether the store takes requests of applications at all; default: yes. */
  servesSql?: boolean;
  /** Index beside the store; null or left out: there is none. */
  index?: SideIndex | null;
  /** Test for nodes without a feature; absent: every node has every feature. */
  lacking?: Lacking | undefined;
  /** Folder of the built console; left out: that of this package. */
  consoleFolder?: URL;
}

/**
 * The HTTP API, ready to listen. Closing it ends waiting requests at once, lets the others finish, and leaves store and
 * bus open.
 */
export async function createApi(deps: ApiDependencies): Promise<HttpApp> {
  const authenticator = deps.authenticator ?? settingsAuthenticator(deps.config, deps.runtime);
  const { clusterSecret = null, clusterSecretAlso = null } = deps.config;
  const secrets = [clusterSecret, clusterSecretAlso].filter((secret) => secret !== null);
  const seal = new SessionSeal(secrets, deps.runtime);
  return await assemble({ ...deps, authenticator, seal, stores: new TenantStores(deps.store, poolsBy(deps.tenants)) });
}

interface JudgingDependencies extends ApiDependencies {
  authenticator: Authenticator;
  seal: SessionSeal;
}

interface Assembled extends JudgingDependencies {
  stores: TenantStores;
}

async function assemble(deps: Assembled): Promise<HttpApp> {
  const { store, stores, bus, runtime, log, config, about, lacking } = deps;
  const quotas = quotasOf(deps);
  const app = httpApp(deps, quotas);
  const waiters = new Waiters({ bus, runtime, store });
  const inbox = new Inbox(bus, runtime, {
    final: (executionId) => waiters.final(executionId),
    output: (items) => followers.hear(items),
    written: () => feed?.hint(),
    keysChanged: () => void deps.refreshKeys?.(),
  });
  const live = new LiveView(bus, inbox, runtime);
  const seats = new StreamSeats(config.streamsMax);
  const followers = new Followers({ bus, runtime, live, seats });
  const reader = new ExecutionReader(stores, live, waiters, runtime);
  const runs = new RunReader(stores, store.runs, live);
  const { zones } = about;
  const [poolOf, allows] = [poolsBy(deps.tenants), allowedBy(deps.tenants)];
  const orderings = new PoolOrderings(store, runtime);
  const pools = new PoolNames(config.poolsMax ?? POOLS_MAX, runtime, allows);
  const warnings = new CountedWarnings(log, runtime);
  const ownShards = new OwnShards(bus);
  const submitter = createSubmitter(deps);
  const intake = createIntake({ ...deps, zones, orderings, warnings, ownShards, quotas }, submitter);
  const feed = deps.events === undefined ? null : new EventFeed({ ...deps, events: deps.events, turns: intake.turns });

  await collectRoutes(app, about.version);
  const handlers = new JobHandlers({ store, bus, inbox, runtime, lacking, poolOf, allows });
  const { webhooks } = deps;
  routesOfSubmits(app, { intake, pools, webhooks, runtime, handlers, quotas }, { ...deps, zones, warnings, ownShards });
  handlerRoutes(app, { store, offers: handlers.offers, allows, lacking });
  jobRoutes(app, stores, reader, runtime);
  const commands = new Commands({ store, bus, inbox });
  routesOfCancels(app, { ...deps, commands, reader });
  signalRoute(app, { runtime, commands, stores, store, lacking });
  const plans = new JobPlans({ stores, runtime, zones, commands });
  const changer = new JobChanger({ ...deps, zones, commands, orderings, warnings, ownShards, quotas });
  changeRoutes(app, changer, { pools, webhooks, handlers });
  planRoutes(app, plans, changer.runs, runtime);
  const { retentionDays = RETENTION_DAYS } = config;
  ledgerRoutes(app, { plans, stores, reader, runtime, zones, retentionDays, turns: intake.turns });
  const asking = { bus, inbox, runtime };
  const progress = (tenant: Tenant, id: string, attempt: number) => askProgress(asking, tenant, id, attempt);
  executionRoutes(app, { reader, stores, store, progress, runs, runtime });
  logsRoutes(app, { ...asking, store, reader, lacking, logUrl: config.logUrl ?? null });
  eventsRoute(app, { reader, followers, runtime });
  const explain = explainer({ ...deps, inbox, reader, offers: handlers.offers, reasonsOfRun: runExplainer(runs) });
  explainRoute(app, explain);
  routesOfRequests(app, { ...deps, intake, pools, handlers, orderings, zones, warnings, quotas });
  webhookRoutes(app, { stores, store: store.webhooks, runtime, rules: webhooks, lacking });
  lifecycleEventsRoute(app, { feed, runtime, turns: intake.turns, seats });
  const submits = { submitter, ownShards, zones, intake, handlers, pools, orderings, quotas };
  routesOfRuns(app, { ...deps, ...submits, runs, live, seats, reader, explain, commands });
  scheduleRoutes(app, runtime, intake.turns);
  timeZoneRoutes(app, { store, zones, lacking });
  routesOfLetters(app, deps);
  executionRunRoutes(app, { ...deps, reader, commands, jobRuns: changer.runs });
  overdueRoute(app, stores, runtime);
  routesOfCluster(app, { ...deps, inbox, orderings, commands });
  await docsRoutes(app, about.version);
  consoleRoutes(app, new ConsoleFiles(deps.consoleFolder));

  app.addHook("preClose", async () => {
    waiters.close();
    followers.close();
  });
  app.addHook("onClose", async () => inbox.close());
  await app.ready();
  return app;
}

/** Quotas of the tenants; undefined: there is only `default`. */
function quotasOf({ store, bus, runtime, tenants }: ApiDependencies): Quotas | undefined {
  return tenants && new Quotas({ store: store.quotas, node: bus.node, runtime, tenants });
}

/** Routes of dead letters, and the runs that settle many of them. */
function routesOfLetters(app: HttpApp, deps: Assembled): void {
  const letters = new DeadLetterRuns(deps);
  deadLetterRoutes(app, deps.stores, letters);
  app.addHook("onReady", async () => letters.start());
  app.addHook("preClose", async () => letters.close());
}

type Cancelling = Assembled & { commands: Commands; reader: ExecutionReader };

/** Route of cancellations, and the settler that writes those of the index into the store. */
function routesOfCancels(app: HttpApp, deps: Cancelling): void {
  const cancels = deps.index?.cancels ?? null;
  // Only the store tells whose an execution is, so without the store nobody cancels where there are several tenants.
  const withoutStore = () => (deps.tenants?.hasSeveral ? null : cancels);
  cancelRoute(app, { ...deps, cancels: withoutStore });
  if (cancels === null) return;
  const settler = new CancelSettler({ ...deps, cancels });
  app.addHook("onReady", async () => settler.start());
  app.addHook("preClose", async () => settler.stop());
}

/** Routes of submits. */
function routesOfSubmits(
  app: HttpApp,
  parts: Omit<SubmitDependencies, "acceptorOf">,
  deps: ApiDependencies & JobMaker,
): void {
  const { ingest = null, log } = deps;
  const acceptor = ingest === null ? null : new JobAcceptor({ ...deps, ...ingest, handlers: parts.handlers });
  // Records of the topic are those of its tenant, so jobs of another one go into the store.
  const acceptorOf = (tenant: Tenant) => (tenant === (ingest?.tenant ?? (() => tenantOf(null)))() ? acceptor : null);
  submitRoute(app, { ...parts, acceptorOf });
  batchRoute(app, { ...parts, acceptorOf }, log);
}

type RequestRules = Omit<ConstructorParameters<typeof JobRequestJudge>[0], keyof ApiDependencies>;

/** Routes of requests, and the taker that takes them in. */
function routesOfRequests(app: HttpApp, deps: Assembled & RequestRules): void {
  const { store, stores, runtime, config, takesRequests = false, ingest: log = null } = deps;
  const { retentionDays = RETENTION_DAYS } = config;
  ingestRoutes(app, { store: store.ingest, log, runtime, retentionDays });
  requestRoutes(app, {
    ...{ stores, ingest: store.ingest, hasLog: log !== null },
    topicTenant: log?.tenant ?? (() => tenantOf(null)),
  });
  if (!takesRequests) return;
  const taker = new RequestTaker({
    ...deps,
    store: store.requests,
    judge: new JobRequestJudge({
      ...{ ...deps, isStopped: isStoppedBy(deps.tenants) },
      ...(config.audit?.submits === "batch" && { audited: "SQL" }),
    }),
  });
  app.addHook("onReady", async () => taker.start());
  app.addHook("preClose", () => taker.stop());
}

function httpApp(deps: JudgingDependencies, quotas: Quotas | undefined): HttpApp {
  const { config, authenticator, seal, metrics, log, runtime, about, certificates, store, refusals, tenants } = deps;
  const { httpLimits: limits } = config;
  const { isStopping } = about;
  const limited = { limits, certificates, tenants, isStopping };
  const app = createHttpApp({ authenticator, seal, metrics, log, runtime, ...limited });
  if (quotas !== undefined && tenants !== undefined) limitRequests(app, quotas, tenants);
  demandAuditWays(app);
  auditReads(app, store.audit);
  noteSubmits(app, config.audit?.submits === "batch");
  if (refusals !== undefined) noteRefusals(app, refusals);
  shareAnswers(app, runtime);
  return app;
}

type ClusterRoutes = Assembled & { inbox: Inbox; orderings: PoolOrderings; commands: Commands };

/** Routes of keys, pools, workers and nodes. */
function routesOfCluster(app: HttpApp, deps: ClusterRoutes): void {
  const { store, stores, bus, runtime, inbox, about, lacking } = deps;
  const asking = { bus, inbox, runtime };
  const withRegistry = { ...asking, registry: deps.index?.workers ?? null };
  const workers = () => listWorkers(asking);
  const changer = new PoolChanger(deps);
  poolRoutes(app, {
    ...{ stores, store, changer, workers, lacking },
    allows: allowedBy(deps.tenants),
    poolOf: poolsBy(deps.tenants),
    actingFor: (caller, tenant) => deps.authenticator.actingFor(caller, tenant),
    tellPools: () => tellKeysChanged(deps),
    uses: () => askPoolUses(asking),
  });
  workerRoutes(app, {
    audit: store.audit,
    find: (id) => findWorker(withRegistry, id),
    drain: (id) => drainWorker(asking, id),
  });
  statsRoute(app, { bus, runtime, inbox, about, stores, queries: store.queries, workers });
  seriesRoute(app, deps);
  clusterRoutes(app, deps);
  missedRoute(app, about);
  keyRoutes(app, deps);
  sessionRoutes(app, { ...deps, audit: store.audit });
  auditRoutes(app, store.audit);
  tenantRoutes(app, deps);
  const { tenants } = deps;
  if (tenants !== undefined) {
    const removals = new TenantRemovals({ ...deps, tenants });
    app.addHook("onReady", async () => removals.start());
    app.addHook("preClose", async () => removals.stop());
  }
  nodeRoutes(app, { ...deps, workers: () => listWorkers(withRegistry) });
}

interface RunRoutes extends Pick<Assembled, "store" | "stores" | "bus">, WorkflowSubmitterDependencies {
  runs: RunReader;
  live: LiveView;
  seats: StreamSeats;
  reader: ExecutionReader;
  explain: ReturnType<typeof explainer>;
  commands: Commands;
}

/** Routes of workflow runs. */
function routesOfRuns(app: HttpApp, deps: RunRoutes): void {
  const { store, stores, runtime, runs, reader, explain, commands, intake } = deps;
  submitWorkflowRoute(app, new WorkflowSubmitter(deps));
  workflowRoutes(app, stores, runs, reader);
  workflowNodeRoutes(app, runs, explain);
  workflowItemRoutes(app, { runs, store: store.runs, stores, live: deps.live });
  cancelWorkflowRoute(app, { runtime, commands, runs });
  retryWorkflowRoute(app, new WorkflowRetrier(deps), deps.handlers);
  orderWorkflowRoutes(app, { runtime, commands, runs });
  signalNodeRoute(app, { ...deps, runs });
  graphRoute(app, runs, intake.turns);
  const followers = new RunFollowers(deps);
  app.addHook("preClose", async () => followers.close());
  workflowEventsRoute(app, { runs, reader, followers, runtime });
}
