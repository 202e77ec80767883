import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type pg from "pg";
import { DURABLE } from "../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../tools/services/start-redis.ts";
import { openRedisStore, openRedisTransfer } from "./adapters/redis-store/redis-store.ts";
import { openTestStore, silent, startTestServer, type TestServer } from "./adapters/sql/testing/databases.ts";
import { openSqlTransfer } from "./adapters/sql/transfer/open-transfer.ts";
import { systemRuntime } from "./adapters/system/system-runtime.ts";
import { Scene, TENANT } from "./ports/conformance/store-scene.conformance.ts";
import { allRows, furnish } from "./ports/conformance/store-transfer.conformance.ts";
import { type RedisAddress, redisAddress } from "./ports/redis-address.ts";
import type { Store } from "./ports/store.ts";
import { StoreMarked, StoreUnusable } from "./ports/store-errors.ts";
import type { MovedExecution, StoreTransfer, TransferKind, TransferRow } from "./ports/store-transfer.ts";
import { transferStore } from "./store-transfer.ts";

const runtime = systemRuntime();
const WITHOUT_KEYS: ReadonlySet<TransferKind> = new Set(["idempotencyKeys"]);

describe("the transfer of a whole store", () => {
  let server: TestServer;
  let redis: TestRedis;
  let prefixes = 0;
  before(async () => {
    [server, redis] = await Promise.all([startTestServer(), startRedis({ settings: DURABLE })]);
  });
  after(async () => {
    await server?.stop();
    await redis?.stop();
  });

  const newAddress = (): RedisAddress => ({
    ...(redisAddress(redis.url) as RedisAddress),
    prefix: `moved-${prefixes++}`,
  });
  const redisSide = (address: RedisAddress) =>
    openRedisTransfer({ address, runtime, node: runtime.uuid(), log: silent });
  const sqlSide = (connection: pg.ClientConfig, isTarget = false) =>
    openSqlTransfer({
      ...{ connection, runtime, log: silent, schema: null, name: null },
      incarnation: runtime.uuid(),
      isTarget,
    });
  const redisStore = (address: RedisAddress) => openRedisStore({ address, runtime, node: runtime.uuid() });

  const move = async (
    from: StoreTransfer,
    to: StoreTransfer,
    {
      without = new Set<TransferKind>(),
      onRows = () => undefined,
      signal = new AbortController().signal,
    }: {
      without?: ReadonlySet<TransferKind>;
      onRows?: (kind: TransferKind) => void;
      signal?: AbortSignal;
    } = {},
  ) => {
    try {
      return await transferStore({ from, to, without, onRows, signal });
    } finally {
      await from.close();
      await to.close();
    }
  };

  const rowsOf = async (side: Promise<StoreTransfer>) => {
    const store = await side;
    try {
      return await allRows(store);
    } finally {
      await store.close();
    }
  };

  /** The counter that bounds final executions in Redis. */
  const countedEnds = async ({ prefix }: RedisAddress) => Number(await redis.ask("GET", `${prefix}:hn`));

  /** A PostgreSQL with rows of every kind. */
  const furnished = async () => {
    const database = await server.newStoreDatabase();
    const store = await openTestStore(database);
    const scene = await Scene.open({ store, runtime, close: () => store.close() });
    const made = await furnish(scene);
    const epochs = (await store.readShards()).map(({ epoch }) => epoch);
    await store.close();
    return { database, made, epochs };
  };

  it("moves rows of every kind to Redis and back, and shards get later epochs", async () => {
    const { database, made, epochs } = await furnished();
    const before = await rowsOf(sqlSide(database));
    for (const [kind, rows] of before)
      if (kind !== "anchors" && kind !== "sealed" && kind !== "payloads") assert.ok(rows.length > 0, `rows of ${kind}`);
    const address = newAddress();
    await move(await sqlSide(database), await redisSide(address));
    assert.equal(await countedEnds(address), endsOf(before));
    const moved = await redisStore(address);
    const scene = await Scene.open({ store: moved, runtime, close: () => moved.close() });
    assert.ok(epochs.every((epoch, shard) => scene.epochOf(shard) > epoch));
    await checkOwned(moved, made);
    await moved.close();
    const copy = await server.newDatabase();
    await move(await redisSide(address), await sqlSide(copy, true), { without: WITHOUT_KEYS });
    const after = await rowsOf(sqlSide(copy));
    // A consumed signal keeps only its digest in Redis.
    for (const [kind, rows] of before)
      if (kind !== "idempotencyKeys" && kind !== "signals") assert.deepEqual(after.get(kind), rows, kind);
    const back = await openTestStore(copy);
    await checkOwned(back, made);
    await back.close();
  });

  it("lets no server open a half of a copy, begins again, and opens the source again on demand", async () => {
    const { database } = await furnished();
    const address = newAddress();
    const controller = new AbortController();
    const onRows = (kind: TransferKind) => (kind === "executions" ? controller.abort(new Error("killed")) : undefined);
    await assert.rejects(
      move(await sqlSide(database), await redisSide(address), { onRows, signal: controller.signal }),
      /killed/,
    );
    await assert.rejects(
      redisStore(address),
      /being filled from PostgreSQL at .* run the same `mainspring migrate` again/s,
    );
    await (await openTestStore(database)).close();
    const other = (await furnished()).database;
    await assert.rejects(move(await sqlSide(other), await redisSide(address)), /is being filled from/);
    await move(await sqlSide(database), await redisSide(address));
    assert.equal(await countedEnds(address), endsOf(await rowsOf(redisSide(address))));
    await (await redisStore(address)).close();
    await assert.rejects(
      openTestStore(database),
      (error: Error) => error instanceof StoreMarked && /was moved to Redis at/.test(error.message),
    );
    const source = await sqlSide(database);
    await source.setMark(null);
    await source.close();
    await (await openTestStore(database)).close();
  });

  it("changes nothing if the target is in use, has rows, or cannot hold a row", async () => {
    const { database } = await furnished();
    const address = newAddress();
    const used = await openRedisStore({
      address,
      runtime,
      node: runtime.uuid(),
      claim: { isShared: true, log: silent },
    });
    await assert.rejects(redisSide(address), StoreUnusable);
    await used.putPool({ name: "p" });
    await used.close();
    await assert.rejects(
      move(await sqlSide(database), await redisSide(address)),
      /is not empty: .*Nothing was changed/,
    );
    const store = await openTestStore(database);
    await store.tenants.bind({ kind: "ROLE", name: "app" }, "acme");
    await store.close();
    const empty = newAddress();
    await assert.rejects(
      move(await sqlSide(database), await redisSide(empty)),
      /cannot hold a row of sources.*the role app is bound/s,
    );
    await (await redisStore(empty)).close();
    await (await openTestStore(database)).close();
  });
});

/** Number of final executions that are no dead letters, with nodes of workflows. */
function endsOf(rows: ReadonlyMap<TransferKind, readonly TransferRow[]>): number {
  const executions = rows.get("executions") as MovedExecution[];
  const ends = executions.filter(({ queue, state }) => queue === "NONE" && state !== "DEAD");
  assert.ok(ends.some(({ node }) => node === null) && ends.some(({ node }) => node !== null));
  return ends.length;
}

/** Checks the rows that a new owner reads in a moved store. */
async function checkOwned(
  store: Store,
  { waiting, running, assigned, dead, settled, workflow }: Awaited<ReturnType<typeof furnish>>,
) {
  const { inFlight, commands, journals } = await store.recover(Array.from({ length: 64 }, (_, shard) => shard));
  const attempts = new Map(inFlight.map(({ row, attempt }) => [row.id, attempt]));
  assert.equal(attempts.get(running.executionId), 3);
  assert.equal(attempts.get(assigned.executionId), 1, "from the journal");
  assert.equal(journals.length, 1);
  assert.ok(commands.some(({ kind }) => kind === "CANCEL"));
  const payloads = await store.payloads([waiting.executionId]);
  assert.equal(payloads.get(waiting.executionId)?.length, 3_000);
  const letters = await store.deadLetters.list(TENANT, {}, { after: null, limit: 10 });
  assert.deepEqual(
    letters.items.map(({ executionId }) => executionId),
    [dead.executionId],
    `and not ${settled.executionId}`,
  );
  const [run] = await store.runs.load([workflow.executionId]);
  assert.equal(run?.revision, 2);
  assert.deepEqual(
    run?.parts.map(({ first }) => first),
    [4],
  );
  const [view] = [await store.queries.getExecution(TENANT, running.executionId)];
  assert.equal(view?.attempt, 3);
}
