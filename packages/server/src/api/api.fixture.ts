import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InjectOptions, LightMyRequestResponse } from "fastify";
import { pino } from "pino";
import { Compile } from "typebox/compile";
import { type EmbeddedPostgres, startEmbedded } from "../adapters/embedded/embedded-postgres.ts";
import { memoryBus } from "../adapters/memory/memory-bus.ts";
import { openSqlStore } from "../adapters/sql/sql-store.ts";
import { systemRuntime } from "../adapters/system/system-runtime.ts";
import { SHARD_COUNT } from "../domain/ids.ts";
import type { Bus, Envelope } from "../ports/bus.ts";
import type { ToScheduler } from "../ports/messages.ts";
import type { ApiMetrics } from "../ports/metrics.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Store } from "../ports/store.ts";
import { createApi } from "./create-api.ts";
import type { HttpApp } from "./http-app.ts";

export interface TestApi {
  app: HttpApp;
  store: Store;
  bus: Bus;
  runtime: Runtime;
  /** What was counted, as `name:count`. */
  counted: string[];
  inject(request: InjectOptions): Promise<LightMyRequestResponse>;
  stop(): Promise<void>;
}

/** The API on a real store in a folder of its own. Nobody owns the shards until a test plays the owner. */
export async function startTestApi(config: { apiKey: string | null } = { apiKey: null }): Promise<TestApi> {
  const folder = await mkdtemp(join(tmpdir(), "api-test-"));
  const runtime = systemRuntime();
  const log = pino({ level: "silent" });
  const embedded = await startEmbedded({ dataDir: join(folder, "data"), runtime, log });
  const bus = memoryBus(runtime.uuid());
  const store = await openSqlStore({ connection: embedded.connection, incarnation: bus.node, runtime, log });
  const counted: string[] = [];
  const addresses = { http: "http://127.0.0.1:8080", grpc: "127.0.0.1:8081" };
  const about = {
    version: "0.1.0",
    addresses: () => addresses,
    readiness: async () => ({ status: "ready" as const, checks: [{ name: "store", ok: true, detail: "" }] }),
  };
  const app = await createApi({ store, bus, runtime, log, config, metrics: countingMetrics(counted), about });
  const stop = () => stopAll(app, store, embedded, folder);
  return { app, store, bus, runtime, counted, inject: (request) => documented(app, request), stop };
}

async function stopAll(app: HttpApp, store: Store, embedded: EmbeddedPostgres, folder: string): Promise<void> {
  await app.close();
  await store.close();
  await embedded.stop();
  await rm(folder, { recursive: true, force: true });
}

export function countingMetrics(counted: string[]): ApiMetrics {
  return {
    request: ({ method, route, status }) => counted.push(`${method} ${route} ${status}`),
    submitted: (count) => counted.push(`submitted:${count}`),
    submitCommit: ({ jobs }) => counted.push(`submitCommit:${jobs}`),
    storeOutage: () => counted.push("storeOutage:1"),
    text: async () => ({ contentType: "text/plain; version=0.0.4", body: "mainspring_up 1\n" }),
  };
}

type Node = Record<string, unknown>;

/** Sends a request and checks that its answer is one that the OpenAPI document has. */
async function documented(app: HttpApp, request: InjectOptions): Promise<LightMyRequestResponse> {
  const response = await app.inject(request);
  const operation = operationOf(app, request);
  if (operation === null) return response;
  const answer = (operation.responses as Node)[String(response.statusCode)] as Node | undefined;
  assert.ok(answer, `${request.method} ${request.url}: ${response.statusCode} is not documented: ${response.body}`);
  const type = String(response.headers["content-type"]).replace(/;.*/, "");
  const media = (answer.content as Node)[type] as { schema: Node } | undefined;
  assert.ok(media, `${type} is not documented`);
  if (!type.endsWith("json")) return response;
  const check = Compile(resolved(app, media.schema) as never);
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

function resolved(app: HttpApp, schema: Node): Node {
  const name = String(schema.$ref ?? "").replace("#/components/schemas/", "");
  return name === "" ? schema : ((app.swagger().components?.schemas?.[name] ?? {}) as Node);
}

/** Plays the owner of all shards: hears what the api says, and may answer. Ends with the returned function. */
export function playOwner(
  bus: Bus,
  hear: (message: ToScheduler, from: Envelope<ToScheduler>["from"]) => void,
): () => void {
  bus.announce(Array.from({ length: SHARD_COUNT }, (_, shard) => shard));
  const end = bus.listen("scheduler", (envelopes) => {
    for (const { from, message } of envelopes) hear(message, from);
  });
  return () => {
    bus.announce([]);
    end();
  };
}
