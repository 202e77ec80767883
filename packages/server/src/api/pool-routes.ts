import { Type } from "typebox";
import { defaultPool, type Pool } from "../domain/pool.ts";
import type { WorkerStatus } from "../ports/messages.ts";
import type { PoolChange, Store } from "../ports/store.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { answer, problems } from "./documented.ts";
import { ProblemError, problem } from "./errors.ts";
import type { HttpApp } from "./http-app.ts";
import { Word } from "./schemas/fields.ts";
import { LIMIT_DEFAULT, pageOf, pageQuery } from "./schemas/listing.ts";
import { PoolBody, PoolSettings } from "./schemas/pool.ts";

/** Owners read all of them every second. */
const POOLS_MAX = 1_000;
const tags = ["pools"];
const params = Type.Object({ name: Word("the pool") });

type ListWorkers = () => Promise<WorkerStatus[]>;

/** GET /v1/pools, GET and PUT /v1/pools/{name} */
export function poolRoutes(app: HttpApp, store: Store, workers: ListWorkers): void {
  listRoute(app, store, workers);
  readRoute(app, store, workers);
  putRoute(app, store, workers);
}

function listRoute(app: HttpApp, store: Store, workers: ListWorkers): void {
  const schema = {
    operationId: "listPools",
    tags,
    summary: "List the pools that have settings or workers",
    querystring: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: answer(pageOf(PoolBody), "A page, by name"), ...problems() },
  };
  app.get("/v1/pools", { schema }, async (request) => {
    const { cursor, limit = LIMIT_DEFAULT } = request.query;
    const after = decodeCursor("pools", cursor);
    const [pools, living] = await Promise.all([store.readPools(), livingWorkers(workers)]);
    const known = new Map(living.map(({ pool }) => [pool, defaultPool(pool)]));
    for (const pool of pools) known.set(pool.name, pool);
    const rest = [...known.values()].filter(({ name }) => after === null || name > after);
    rest.sort((a, b) => (a.name < b.name ? -1 : 1));
    const items = rest.slice(0, limit);
    const next = rest.length > limit ? (items.at(-1)?.name ?? null) : null;
    return { items: items.map((pool) => poolBody(pool, living)), nextCursor: encodeCursor("pools", next) };
  });
}

function readRoute(app: HttpApp, store: Store, workers: ListWorkers): void {
  const schema = {
    operationId: "getPool",
    tags,
    summary: "Read a pool; one that nobody has set up has the defaults",
    params,
    response: { 200: answer(PoolBody, "Its settings and who serves it"), ...problems() },
  };
  app.get("/v1/pools/:name", { schema }, async (request) => {
    const { name } = request.params;
    const [pools, living] = await Promise.all([store.readPools(), livingWorkers(workers)]);
    return poolBody(pools.find((pool) => pool.name === name) ?? defaultPool(name), living);
  });
}

function putRoute(app: HttpApp, store: Store, workers: ListWorkers): void {
  const schema = {
    operationId: "putPool",
    tags,
    summary: "Pause, resume or set up a pool; what is left out stays as it is. Owners obey within a second or two",
    params,
    body: PoolSettings,
    response: {
      200: answer(PoolBody, "As it is now. Work that is ready already keeps its place when the strategy changes."),
      ...problems("wrong-state", "unsupported-media-type", "payload-too-large"),
    },
  };
  app.put("/v1/pools/:name", { schema }, async (request) => {
    const { name } = request.params;
    await refuseTooMany(store, name);
    const pool = await store.putPool(changeOf(name, request.body));
    return poolBody(pool, await livingWorkers(workers));
  });
}

async function refuseTooMany(store: Store, name: string): Promise<void> {
  const pools = await store.readPools();
  if (pools.length < POOLS_MAX || pools.some((pool) => pool.name === name)) return;
  throw new ProblemError(problem("wrong-state", `${POOLS_MAX} pools have settings of their own: use one of them`));
}

function changeOf(name: string, { paused, strategy, priorityStepSec, placement }: PoolSettings): PoolChange {
  return {
    name,
    ...(paused !== undefined && { paused }),
    ...(strategy !== undefined && { order: strategy }),
    ...(priorityStepSec !== undefined && { priorityStepMs: Math.round(priorityStepSec * 1_000) }),
    ...(placement !== undefined && { placement }),
  };
}

async function livingWorkers(workers: ListWorkers): Promise<WorkerStatus[]> {
  return (await workers()).filter(({ state }) => state !== "DEAD");
}

function poolBody({ name, paused, order, priorityStepMs, placement }: Pool, living: readonly WorkerStatus[]): PoolBody {
  const serving = living.filter(({ pool }) => pool === name);
  return {
    ...{ name, paused, strategy: order, priorityStepSec: priorityStepMs / 1_000, placement },
    workers: serving.length,
    slots: serving.reduce((sum, { slots }) => sum + slots, 0),
    running: serving.reduce((sum, { running }) => sum + running, 0),
  };
}
