import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { DURABLE } from "../../../../../tools/services/durable-redis.ts";
import { startRedis, type TestRedis } from "../../../../../tools/services/start-redis.ts";
import { FEATURE_LEVEL } from "../../domain/cluster/feature-level.ts";
import { type RedisAddress, redisAddress } from "../../ports/redis-address.ts";
import { StoreUnusable } from "../../ports/store-errors.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { LIBRARY } from "./library.ts";
import { openRedisStore, type RedisStoreOptions } from "./redis-store.ts";

const runtime = systemRuntime();

/** A bug in what opens the store, and a story that must fail with it. */
interface OpeningBug {
  title: string;
  text: string;
  planted: string;
  story: (prefix: string, library: string) => Promise<void>;
}

describe("bugs in what opens the store on Redis", () => {
  let redis: TestRedis;
  let stories = 0;
  before(async () => {
    redis = await startRedis({ settings: DURABLE });
    await redis.ask(
      "ACL",
      "SETUSER",
      "app",
      "on",
      ">pw",
      "~*",
      "+@all",
      "-@dangerous",
      "+info",
      "+config|get",
      "-xadd",
    );
  });
  after(() => redis?.stop());

  const opened = async (prefix: string, more: Partial<RedisStoreOptions>, login: RedisAddress["login"] = null) => {
    const address = { ...(redisAddress(redis.url) as RedisAddress), prefix, login };
    await (await openRedisStore({ address, runtime, node: runtime.uuid(), ...more })).close();
  };
  const refused = (opening: Promise<void>) => assert.rejects(opening, StoreUnusable);
  const claims = async (prefix: string, ...asked: readonly (readonly [string, "A" | "S", string?])[]) => {
    const answers: string[] = [];
    const generation = await redis.ask("GET", `${prefix}:generation`);
    for (const [server, letter, lastsMs = "30000"] of asked)
      answers.push(await redis.ask("FCALL", "ms_claim", "2", `${prefix}:`, generation, server, letter, lastsMs));
    return answers;
  };

  const BUGS: readonly OpeningBug[] = [
    {
      title: "a server that is alone gets the store of a cluster",
      text: "(held == 'A' or letter == 'A')",
      planted: "held == 'A'",
      story: async (prefix, library) => {
        await opened(prefix, { library });
        assert.deepEqual(await claims(prefix, ["one", "S"], ["two", "S"], ["lone", "A"]), ["", "", "Sone"]);
      },
    },
    {
      title: "a server excludes itself when it renews its claim",
      text: "elseif all[i] ~= server and (held",
      planted: "elseif (held",
      story: async (prefix, library) => {
        await opened(prefix, { library });
        assert.deepEqual(await claims(prefix, ["lone", "A"], ["lone", "A"], ["other", "A"]), ["", "", "Alone"]);
      },
    },
    {
      title: "a claim outlives its time",
      text: "local lasts = tonumber(ends) > now and",
      planted: "local lasts =",
      story: async (prefix, library) => {
        await opened(prefix, { library });
        assert.deepEqual(await claims(prefix, ["lone", "A", "1"], ["next", "A"]), ["", ""]);
      },
    },
    {
      title: "a claim from before the clock was set back stays",
      text: "tonumber(ends) > now and tonumber(ends) <= now + 2 * tonumber(args[3])",
      planted: "tonumber(ends) > now",
      story: async (prefix, library) => {
        await opened(prefix, { library });
        await redis.ask("HSET", `${prefix}:cl`, "lone", "A 99999999999999");
        assert.deepEqual(await claims(prefix, ["next", "A"]), [""]);
      },
    },
    {
      title: "a program of an older level opens a new store",
      text: "call('GET', p .. 'needs_level') or args[3]",
      planted: "call('GET', p .. 'needs_level') or '1'",
      story: (prefix, library) => refused(opened(prefix, { library, level: FEATURE_LEVEL - 1 })),
    },
    {
      title: "the store does not keep the level that it needs",
      text: "  raise_level(p, args[3])\n  call('SETNX'",
      planted: "  call('SETNX'",
      story: async (prefix, library) => {
        await opened(prefix, { library });
        assert.equal(await redis.ask("GET", `${prefix}:needs_level`), `${FEATURE_LEVEL}`);
      },
    },
    {
      title: "nobody asks for the rights of the user",
      text: "if not redis.acl_check_cmd(",
      planted: "if false and not redis.acl_check_cmd(",
      story: (prefix, library) => refused(opened(prefix, { library }, { name: "app", password: "pw" })),
    },
  ];

  for (const { title, text, planted, story } of BUGS)
    it(`${title}: its story fails, and passes without it`, async () => {
      assert.equal(LIBRARY.split(text).length, 2, "the library has the text once");
      await story(`story-${stories++}`, LIBRARY);
      await assert.rejects(story(`story-${stories++}`, LIBRARY.replace(text, planted)), assert.AssertionError);
    });
});
