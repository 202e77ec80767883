import { StatsBody } from "@mainspring/contract";
import { addBuckets, delayQuantile } from "../../domain/delay-buckets.ts";
import { FINAL_STATES } from "../../domain/execution.ts";
import { SHARD_COUNT } from "../../domain/ids.ts";
import type { PlannedOutcome } from "../../domain/recurrence.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Bus, Role } from "../../ports/bus.ts";
import type { SchedulerStats, WorkerStatus } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { StoreQueries } from "../../ports/store-queries.ts";
import type { TimeZoneRules } from "../../ports/time-zone-rules.ts";
import { isOfOperators } from "../../security/tenant.ts";
import type { TenantStores } from "../../security/tenant-stores.ts";
import { answer, problems } from "../http/documented.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { Inbox } from "../inbox.ts";
import type { About } from "./node-routes.ts";

const ASK_TIMEOUT_MS = 500;
const DAY_MS = 86_400_000;
/** Largest count of executions; counting further would cost more than the figure is worth. */
const COUNT_MAX = 10_000;
const ROLES: readonly Role[] = ["api", "scheduler", "gateway"];

interface StatsDependencies {
  bus: Bus;
  runtime: Runtime;
  inbox: Inbox;
  about: About;
  stores: Pick<TenantStores, "of">;
  /** Counts of all tenants, for operators. */
  queries: Pick<StoreQueries, "countExecutions">;
  workers(): Promise<WorkerStatus[]>;
}

/** Route GET /v1/stats */
export function statsRoute(app: HttpApp, deps: StatsDependencies): void {
  const { bus, about, queries, workers } = deps;
  const schema = {
    operationId: "getStats",
    tags: ["node"],
    summary: "Read the version, settings and load of the servers",
    response: { 200: answer(StatsBody, "Figures of this moment"), ...problems() },
  };
  app.get("/v1/stats", { schema, config: { scope: "jobs:read", isShared: true } }, async (request) => {
    const tenant = tenantOfCaller(request);
    if (!isOfOperators(tenant)) return await ownFigures(deps, tenant);
    const [stats, known, counts] = await Promise.all([
      askStats(deps),
      workers(),
      queries.countExecutions(null, COUNT_MAX),
    ]);
    const { waiting, ready, held: running, deadLetters, openRuns } = counts;
    const connected = known.filter(({ state }) => state === "ALIVE" || state === "DRAINING").length;
    const owners = Array.from({ length: SHARD_COUNT }, (_, shard) => bus.ownerOf(shard));
    return {
      version: about.version,
      node: bus.node,
      ...timeZonesOf(about.zones, deps.runtime.now()),
      addresses: about.addresses(),
      nodes: nodesOf(bus),
      workers: { connected },
      shards: { total: SHARD_COUNT, owned: owners.filter((owner) => owner !== null).length },
      executions: { waiting, ready, running, deadLetters, openRuns, countedUpTo: COUNT_MAX },
      store: about.storeConnections(),
      durability: about.durability,
      finished: finishedOf(stats),
      recurring: { ...recurringOf(stats), missed: about.missed?.().instants ?? null },
      lateness: latenessOf(stats),
    };
  });
}

/** Figures for a tenant: those of its own work. The servers are counted over all tenants, so they are left out. */
async function ownFigures({ about, bus, runtime, stores }: StatsDependencies, tenant: Tenant): Promise<StatsBody> {
  const counts = await stores.of(tenant).queries.countExecutions(COUNT_MAX);
  const { waiting, ready, held: running, deadLetters, openRuns } = counts;
  return {
    ...{ version: about.version, node: bus.node, ...timeZonesOf(about.zones, runtime.now()) },
    ...{ addresses: { http: null, grpc: null }, nodes: [], workers: { connected: 0 } },
    shards: { total: SHARD_COUNT, owned: 0 },
    executions: { waiting, ready, running, deadLetters, openRuns, countedUpTo: COUNT_MAX },
    ...{
      store: [],
      durability: about.durability,
      finished: [],
      recurring: { ...recurringOf([]), missed: null },
      lateness: latenessOf([]),
    },
  };
}

function timeZonesOf(zones: TimeZoneRules, now: number): Pick<StatsBody, "timeZoneData" | "timeZoneDataAgeDays"> {
  const { version, releasedOn } = zones.inForce();
  const ageMs = releasedOn === null ? null : now - Date.parse(releasedOn);
  return {
    timeZoneData: version,
    timeZoneDataAgeDays: ageMs === null ? null : Math.max(0, Math.floor(ageMs / DAY_MS)),
  };
}

async function askStats({ bus, runtime, inbox }: StatsDependencies): Promise<SchedulerStats[]> {
  const schedulers = bus.nodes("scheduler");
  const request = runtime.uuid();
  const answered = inbox.collect(request, schedulers.length, ASK_TIMEOUT_MS);
  for (const node of schedulers) bus.send({ node, role: "scheduler" }, { kind: "ASK_TALLY", request });
  return (await answered).flatMap((answer) => (answer.kind === "TALLY" ? answer.tally : []));
}

function nodesOf(bus: Bus): StatsBody["nodes"] {
  const byRole = ROLES.map((role) => ({ role, nodes: bus.nodes(role) }));
  const all = [...new Set([bus.node, ...byRole.flatMap(({ nodes }) => nodes)])].sort();
  return all.map((node) => ({
    node,
    roles: byRole.filter(({ nodes }) => nodes.includes(node)).map(({ role }) => role),
  }));
}

function finishedOf(stats: readonly SchedulerStats[]): StatsBody["finished"] {
  const all = stats.flatMap(({ finished }) => finished);
  return FINAL_STATES.map((state) => ({
    state,
    count: all.reduce((sum, one) => sum + (one.state === state ? one.count : 0), 0),
  }));
}

function recurringOf(stats: readonly SchedulerStats[]): Omit<StatsBody["recurring"], "missed"> {
  const all = stats.flatMap(({ planned = [] }) => planned);
  const sum = (isWanted: (outcome: PlannedOutcome) => boolean) =>
    all.reduce((total, { outcome, count }) => total + (isWanted(outcome) ? count : 0), 0);
  const hasRun = (outcome: PlannedOutcome) => outcome === "ON_TIME" || outcome === "LATE";
  return {
    planned: sum(() => true),
    run: sum(hasRun),
    late: sum((outcome) => outcome === "LATE"),
    skipped: sum((outcome) => !hasRun(outcome)),
  };
}

function latenessOf(stats: readonly SchedulerStats[]): StatsBody["lateness"] {
  const buckets = addBuckets(stats.map(({ lateness }) => lateness));
  return {
    p50Ms: delayQuantile(buckets, 0.5),
    p99Ms: delayQuantile(buckets, 0.99),
    starts: buckets.reduce((sum, count) => sum + count, 0),
  };
}
