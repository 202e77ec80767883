import { type Durability, Redis } from "../../services/redis.ts";
import { ForkedWorker } from "../../worker/forked-worker.ts";
import type { Contender } from "../contender.ts";
import { BullMqRig } from "./bullmq-rig.ts";
import { CONCURRENCY, connectionTo, loadBullMq, redisClient } from "./bullmq-types.ts";

export function bullMq(durability: Durability): Contender {
  return {
    name: `bullmq-${durability}`,
    title: `BullMQ, ${durability}`,
    settings: `concurrency ${CONCURRENCY}, addBulk, removeOnComplete, appendfsync ${durability}; deletes finished jobs`,
    isPeer: true,
    isVariant: durability === "always",
    hasCapabilities: false,
    flows: { areTrees: true, arePolled: false },
    open: async () => {
      const redis = await Redis.start(durability);
      const { Queue, FlowProducer } = await loadBullMq();
      const queue = new Queue("noop", {
        connection: connectionTo(redis.path),
        defaultJobOptions: { removeOnComplete: true },
      });
      await queue.waitUntilReady();
      const openWorker = () => ForkedWorker.open(new URL("./bullmq-worker.ts", import.meta.url), { path: redis.path });
      return new BullMqRig({
        redis,
        queue,
        flows: new FlowProducer({ connection: connectionTo(redis.path) }),
        client: await redisClient(redis.path),
        worker: await openWorker(),
        openWorker,
      });
    },
  };
}
