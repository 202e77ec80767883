import process from "node:process";
import { storeConformance } from "../../../ports/conformance/store.conformance.ts";
import { TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { openRedisStore } from "../redis-store.ts";
import { SUBMISSION_MAX } from "../submit.ts";

/** Runs the port's suite on the Redis of `REDIS_UNDER_TEST`, with keys of its own for each test. */
const address = redisAddress(process.env["REDIS_UNDER_TEST"] ?? "") as RedisAddress;
let stores = 0;

storeConformance("Redis", async (isTelling = false) => {
  const runtime = systemRuntime();
  const prefix = `suite-${process.pid}-${stores++}`;
  const store = await openRedisStore({
    ...{ address: { ...address, prefix }, runtime, node: runtime.uuid() },
    events: () => isTelling,
  });
  // No transaction of an application writes requests into Redis, so the store's own refusal ends each case that begins with one.
  const addRequests = async () => {
    await store.requests.get(TENANT, runtime.uuid());
    return [];
  };
  const unserved = new Set(["requests in SQL"] as const);
  return { store, runtime, submissionMax: SUBMISSION_MAX, unserved, addRequests, close: () => store.close() };
});
