import process from "node:process";
import { storeConformance } from "../../../ports/conformance/store.conformance.ts";
import { type RedisAddress, redisAddress } from "../../../ports/redis-address.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { NotBuilt } from "../not-built.ts";
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
  const addRequests = () => Promise.reject(new NotBuilt("requests in SQL"));
  return { store, runtime, submissionMax: SUBMISSION_MAX, addRequests, close: () => store.close() };
});
