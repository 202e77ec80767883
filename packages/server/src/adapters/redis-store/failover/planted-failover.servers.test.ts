import assert from "node:assert/strict";
import type { TestRedis } from "../../../../../../tools/services/start-redis.ts";
import type { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NodeProfile } from "../../../ports/leases.ts";
import { StoreUnavailable } from "../../../ports/store-errors.ts";
import type { RedisStore } from "../redis-store.ts";
import { type PlantedBug, plantedBugs } from "../testing/planted-bug.ts";

/** Makes Redis another server, by its replication id. No connection ends. */
async function changeServer(redis: TestRedis): Promise<void> {
  await redis.ask("REPLICAOF", "127.0.0.1", "1");
  await redis.promote();
}

function renew(scene: Scene): Promise<unknown> {
  const { leases } = scene.store as RedisStore;
  const profile = { incarnation: scene.runtime.uuid(), name: "n", startedAt: 0, roles: [], level: 1 };
  return leases.renew(profile as unknown as NodeProfile, 1_000);
}

/** A renewal on the changed server, which fails, and the one behind it, which opens the store again. */
async function noticed(scene: Scene): Promise<void> {
  await assert.rejects(renew(scene));
  await renew(scene);
}

const BUGS: readonly PlantedBug[] = [
  {
    title: "functions do not compare the generation",
    text: "local is_guarded = flags ~= READ and name ~= 'ms_open'",
    planted: "local is_guarded = false",
    story: async (scene, { redis }) => {
      const job = await scene.submitted();
      await changeServer(redis);
      const tick = scene.tick(job.shard, { changes: [scene.succeeded(job)] });
      await assert.rejects(scene.store.commit([tick]), StoreUnavailable);
    },
  },
  {
    title: "a generation that another program has begun is that of every connection",
    text: "if is_guarded and keys[2] ~= present_generation(keys[1]) then",
    planted: "if is_guarded and not present_generation(keys[1]) then",
    story: async (scene, { redis, prefix }) => {
      await renew(scene);
      await changeServer(redis);
      await redis.ask("FCALL", "ms_open", "1", prefix, "1", "1000", "1", "");
      await assert.rejects(renew(scene));
    },
  },
  {
    title: "a generation raises no epochs",
    text: "if #raised > 0 then call('HSET', p .. 'sh', unpack(raised)) end",
    planted: "",
    story: async (scene, { redis }) => {
      await renew(scene);
      const [before] = await scene.store.readShards();
      await changeServer(redis);
      await noticed(scene);
      const [after] = await scene.store.readShards();
      assert.equal(after?.owner, null);
      assert.ok((after?.epoch ?? 0) > (before?.epoch ?? 0));
    },
  },
  {
    title: "a generation has the number of the one before",
    text: "local begun = digits(math.max(number, known_number) + 1)",
    planted: "local begun = digits(math.max(number, known_number, 0))",
    story: async (scene, { redis }) => {
      await renew(scene);
      await changeServer(redis);
      // A store that has known nothing takes any generation.
      await assert.doesNotReject(noticed(scene));
      assert.equal((await scene.store.recover([0])).lostAttempts?.last, 100_000);
    },
  },
  {
    title: "a server that has lost a generation keeps the one of before",
    text: "if present and (number > known_number or present == args[4]) then",
    planted: "if present then",
    story: async (scene, { redis, prefix }) => {
      await renew(scene);
      const first = await redis.ask("GET", `${prefix}generation`);
      await changeServer(redis);
      await noticed(scene);
      const [, ...lost] = first.split(" ");
      const [id] = (await redis.ask("GET", `${prefix}generation`)).split(" ");
      await redis.ask("SET", `${prefix}generation`, [id, ...lost].join(" "));
      await assert.doesNotReject(noticed(scene));
      assert.equal((await scene.store.recover([0])).lostAttempts?.last, 200_000);
    },
  },
  {
    title: "a generation gives numbers of kinds that a lost one has given",
    text: "PER_GENERATION * generation_number(keys[2])",
    planted: "0",
    story: async (scene, { redis, prefix }) => {
      await renew(scene);
      const job = await scene.submitted();
      await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
      await changeServer(redis);
      await redis.ask("DEL", `${prefix}k`, `${prefix}kn`, `${prefix}kl`);
      await noticed(scene);
      await scene.submitted({ handler: "another" });
      const numbers = (await redis.ask("HKEYS", `${prefix}k`)).split("\n").map(Number);
      assert.ok(
        numbers.every((number) => number > 100_000),
        String(numbers),
      );
    },
  },
];

plantedBugs("planted bugs in the generations of the store on Redis", BUGS);
