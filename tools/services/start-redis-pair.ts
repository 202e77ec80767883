import { DURABLE } from "./durable-redis.ts";
import { startRedis, type TestRedis } from "./start-redis.ts";

/** Settings of both, so that a new replica has its copy soon. */
const SETTINGS = [...DURABLE, "--repl-diskless-sync-delay", "0"] as const;

/** A Redis that can be the store, and its replica. */
export interface RedisPair {
  readonly primary: TestRedis;
  readonly replica: TestRedis;
  /** Ends both and removes their data. Repeated calls do nothing. */
  stop(): Promise<void>;
}

/** Starts both. Resolves when the replica has everything that the primary has. They end with this process at the latest. */
export async function startRedisPair(): Promise<RedisPair> {
  const primary = await startRedis({ settings: SETTINGS });
  const replica = await startReplica(primary).catch(async (cause: unknown) => {
    await primary.stop();
    throw cause;
  });
  return { primary, replica, stop: async () => void (await Promise.all([primary.stop(), replica.stop()])) };
}

/** Adds a replica. Resolves when it has everything that the primary has. */
export async function startReplica({ port }: Pick<TestRedis, "port">): Promise<TestRedis> {
  return await startRedis({ settings: SETTINGS, replicaOf: port });
}
