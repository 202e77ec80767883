import { DURABLE } from "./durable-redis.ts";
import { startRedis, type TestRedis } from "./start-redis.ts";

const ONLINE_WITHIN_MS = 60_000;
const ASK_EVERY_MS = 30;
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
export async function startReplica({ port, ask }: TestRedis): Promise<TestRedis> {
  const replica = await startRedis({ settings: [...SETTINGS, "--replicaof", "127.0.0.1", `${port}`] });
  const untilMs = Date.now() + ONLINE_WITHIN_MS;
  for (;;) {
    const told = await ask("INFO", "replication").catch(() => "");
    if (new RegExp(`port=${replica.port},state=online`).test(told)) return replica;
    if (Date.now() > untilMs) {
      await replica.stop();
      throw new Error(`the replica of Redis did not get its copy: ${told}`);
    }
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}
