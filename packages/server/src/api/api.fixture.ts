import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { pino } from "pino";
import { Compile } from "typebox/compile";
import { startEmbedded } from "../adapters/embedded/embedded-postgres.ts";
import { memoryBus } from "../adapters/memory/memory-bus.ts";
import { openSqlStore } from "../adapters/sql/sql-store.ts";
import { systemRuntime } from "../adapters/system/system-runtime.ts";
import { usePackagedZones } from "../adapters/system/time-zone-data.ts";
import {
  type Epoch,
  type EpochMs,
  type ExecutionId,
  type Incarnation,
  type JobId,
  SHARD_COUNT,
} from "../domain/ids.ts";
import type { Skip } from "../domain/recurrence.ts";
import type { Bus, Envelope } from "../ports/bus.ts";
import { shardCommit, takeShards } from "../ports/conformance/store-scene.conformance.ts";
import type { Leases } from "../ports/leases.ts";
import type { ToScheduler } from "../ports/messages.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Store } from "../ports/store.ts";
import type { Command } from "../ports/store-commands.ts";
import type { StoreQueries } from "../ports/store-queries.ts";
import { TenantStores } from "../security/tenant-stores.ts";
import { fixedRules } from "../time-zones.ts";
import type { About } from "./cluster/node-routes.ts";
import { type ApiDependencies, createApi } from "./create-api.ts";
import type { Lacking } from "./feature-gate.ts";
import type { HttpApp } from "./http/http-app.ts";
import { MissedWatch } from "./recurring/missed-watch.ts";
import type { WebhookRules } from "./webhooks/webhook-rules.ts";

export interface TestApi {
  app: HttpApp;
  store: Store;
  leases: Leases;
  bus: Bus;
  /** Search for missed instants, which runs when the test says so. */
  missed: MissedWatch;
  /** Counted metrics, as `name:count`. */
  counted: string[];
  /** Sends a request and checks that the OpenAPI document contains its answer. */
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  /** Another API on the same store, with its own bus; the caller closes it. */
  another(
    config: ApiDependencies["config"],
    lacking?: Lacking,
    beside?: Pick<ApiDependencies, "index" | "ingest" | "refusals" | "authenticator" | "events" | "tenants">,
  ): Promise<HttpApp>;
  /** Stops the store's server, so that every later use of the store fails as in an outage. */
  loseStore(): Promise<void>;
  stop(): Promise<void>;
}

/** Stores of tenants over queries of a test. */
export function storesWith(queries: Partial<StoreQueries>): TenantStores {
  return new TenantStores({ queries } as unknown as ConstructorParameters<typeof TenantStores>[0]);
}

/**
 * The API on a real store in a folder of its own. The shards have no owner until a test plays one. @param now clock of
 * the API; default: the system's
 */
export async function startTestApi(now?: () => number): Promise<TestApi> {
  const folder = await mkdtemp(join(tmpdir(), "api-test-"));
  const runtime = { ...systemRuntime(), ...(now && { now }) };
  const log = pino({ level: "silent" });
  const embedded = await startEmbedded({ dataDir: join(folder, "data"), runtime, log });
  const bus = memoryBus(runtime.uuid());
  const store = await openSqlStore({ connection: embedded.connection, incarnation: bus.node, runtime, log });
  const counted: string[] = [];
  const missed = new MissedWatch({ queries: store.queries, runtime, log, zones: about.zones, retentionDays: 30 });
  const parts = {
    ...{
      store,
      runtime,
      clock: { look: async () => undefined },
      log,
      metrics: countingMetrics(counted),
      leases: store.leases,
    },
    about: { ...about, missed: () => missed.found() },
    webhooks,
  };
  const app = await createApi({ ...parts, bus, config: { apiKey: null } });
  const another: TestApi["another"] = (config, lacking, beside = {}) =>
    createApi({ ...parts, bus: memoryBus(runtime.uuid()), config, lacking, ...beside });
  const stop = async () => {
    await app.close();
    await store.close();
    await embedded.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const loseStore = () => embedded.stop();
  const { leases } = store;
  return {
    app,
    store,
    leases,
    bus,
    missed,
    counted,
    inject: (request) => documented(app, request),
    another,
    loseStore,
    stop,
  };
}

/** Facts about the node that a test API tells. */
export const about: About = {
  version: "0.1.0",
  zones: fixedRules(usePackagedZones()),
  addresses: () => ({ http: "http://127.0.0.1:8080", grpc: "127.0.0.1:8081" }),
  durability: { store: "EMBEDDED", disk: "ALWAYS", replicas: 0 },
  storeConnections: () => [{ purpose: "commit", busy: 0, max: 1, waiting: 0 }],
  readiness: async () => ({ status: "ready", checks: [{ name: "store", ok: true, detail: "" }] }),
};

/** Rules of webhooks: any URL but those of `refused.example`. */
const webhooks: WebhookRules = {
  urlFault: (url) => (url.includes("refused.example") ? "must not be there" : null),
  ...{ signsEnds: true, tellsSubscriptions: true },
  newSecret: () => `whsec_${Buffer.alloc(32, 1).toString("base64")}`,
};

export function countingMetrics(counted: string[]): ApiMetrics {
  return {
    request: ({ method, route, status }) => counted.push(`${method} ${route} ${status}`),
    submitted: (count) => counted.push(`submitted:${count}`),
    requestsEnded: ({ takenIn, refused }) => counted.push(`requestsEnded:${takenIn},${refused}`),
    submitCommit: ({ jobs }) => counted.push(`submitCommit:${jobs}`),
    storeOutage: () => counted.push("storeOutage:1"),
    text: async () => ({ contentType: "text/plain; version=0.0.4", body: "mainspring_up 1\n" }),
  };
}

type Node = Record<string, unknown>;

export async function documented(app: HttpApp, request: InjectOptions): Promise<LightMyRequestResponse> {
  const response = await app.inject(request);
  const operation = operationOf(app, request);
  if (operation === null) return response;
  const answer = (operation.responses as Node)[String(response.statusCode)] as Node | undefined;
  assert.ok(answer, `${request.method} ${request.url}: ${response.statusCode} is not documented: ${response.body}`);
  if (response.statusCode === 204) {
    assert.equal(response.body, "");
    return response;
  }
  const type = String(response.headers["content-type"]).replace(/;.*/, "");
  const media = (answer.content as Node)[type] as { schema: Node } | undefined;
  assert.ok(media, `${type} is not documented`);
  if (!type.endsWith("json") || type.endsWith("ndjson")) return response;
  const { components } = app.swagger() as unknown as { components: Node };
  const check = Compile({ ...media.schema, components } as never);
  assert.deepEqual(check.Errors(response.json()), [], `${request.method} ${request.url}: ${response.body}`);
  return response;
}

function operationOf(app: HttpApp, { method = "GET", url }: InjectOptions): Node | null {
  const path = String(url).replace(/\?.*/, "");
  const paths = app.swagger().paths as Record<string, Record<string, Node>>;
  const found = Object.entries(paths).find(([pattern]) => {
    return new RegExp(`^${pattern.replace(/\{[^}]+\}/g, "[^/]+")}$`).test(path);
  });
  return found?.[1][method.toLowerCase()] ?? null;
}

/** Commands in the store for a job and its execution, because the same shard can have other commands. */
export async function commandsFor(
  store: Pick<Store, "load" | "readCommands">,
  { jobId, executionId }: { jobId: JobId; executionId: ExecutionId },
): Promise<Command[]> {
  const [row] = await store.load([executionId]);
  assert.ok(row);
  const kept = await store.readCommands([row.shard], new Set(), 1_000);
  return kept.filter((command) => ("jobId" in command ? command.jobId === jobId : command.executionId === executionId));
}

/**
 * Plays the machine of the node that is asked: confirms the settings of pools for all shards that the node owns
 * according to the store.
 */
export async function applyPools({ bus, store }: TestApi, message: ToScheduler, asker: Incarnation): Promise<void> {
  if (message.kind !== "APPLY_POOLS") return;
  const shards = (await store.readShards()).filter(({ owner }) => owner === bus.node);
  bus.send({ node: asker, role: "api" }, { kind: "POOLS_APPLIED", request: message.request, shards });
}

/**
 * Plays the owner of a recurring job that moves its plan on by `ms` without an execution, which a correct owner never
 * does. @param skipsFrom what it records as skipped from the next instant on; default: nothing
 * @returns the instant that was the next one
 */
export async function passInstants(
  { store, bus }: TestApi,
  jobId: JobId,
  ms: number,
  skipsFrom: (first: EpochMs) => Skip[] = () => [],
): Promise<EpochMs> {
  const [job] = await store.recurrences.load([jobId]);
  const first = job?.plan.nextFireAt;
  assert.ok(job && first);
  const [epoch] = await takeShards(store, [job.shard], bus.node);
  const plan = { ...job.plan, nextFireAt: first + ms };
  const revision = { wasRevision: job.revision, revision: job.revision + 1 };
  const plans = [{ jobId, ...revision, created: [], skips: skipsFrom(first), plan }];
  const [outcome] = await store.commit([shardCommit(job.shard, epoch as Epoch, { plans })]);
  assert.equal(outcome?.status, "APPLIED");
  return first;
}

/** Plays the owner of all shards: receives the API's messages, and may answer. The returned function ends it. */
export function playOwner(
  bus: Bus,
  hear: (message: ToScheduler, from: Envelope<ToScheduler>["from"]) => void,
): () => void {
  const owns = (count: number) => {
    const shards = Array.from({ length: count }, (_, shard) => ({ shard, epoch: 1 }));
    bus.send({ node: bus.node, role: "api" }, { kind: "OWNER", term: 1, shards });
  };
  owns(SHARD_COUNT);
  const end = bus.listen("scheduler", (envelopes) => {
    for (const { from, message } of envelopes) hear(message, from);
  });
  return () => {
    owns(0);
    end();
  };
}
