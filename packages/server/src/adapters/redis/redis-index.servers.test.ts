import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, afterEach, before, describe, it } from "node:test";
import { pino } from "pino";
import { type RedisOptions, startRedis, type TestRedis } from "../../../../../tools/services/start-redis.ts";
import { sideIndexConformance, status } from "../../ports/conformance/side-index.conformance.ts";
import { type RedisAddress, redisAddress } from "../../ports/redis-address.ts";
import { CANCELS_MAX, IndexUnavailable, IndexUnusable } from "../../ports/side-index.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { redisIndex } from "./redis-index.ts";
import { RedisLink } from "./redis-link.ts";

const runtime = systemRuntime();
const passed = (ms: number) => new Promise<void>((resolve) => runtime.setTimer(ms, resolve));

let redis: TestRedis;
let clusters = 0;
before(async () => {
  redis = await startRedis();
});
after(() => redis?.stop());

/** Address of a cluster of Mainspring of its own. */
function newAddress(url = redis.url): RedisAddress {
  return { ...(redisAddress(url) as RedisAddress), prefix: `test-${clusters++}` };
}

sideIndexConformance("Redis", async () => {
  const address = newAddress();
  const links: RedisLink[] = [];
  return {
    index() {
      const link = new RedisLink({ address, runtime, log: pino({ level: "silent" }) });
      links.push(link);
      return redisIndex(link, runtime);
    },
    pass: passed,
    async flush() {
      await redis.ask("FLUSHALL");
    },
    async close() {
      for (const link of links) link.close();
    },
  };
});

describe("the link to Redis", () => {
  const links: RedisLink[] = [];
  const others: TestRedis[] = [];
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => void lines.push(line) });
  const open = (address = newAddress()) => {
    const link = new RedisLink({ address, runtime, log });
    links.push(link);
    return link;
  };
  const started = async (options: RedisOptions) => {
    const other = await startRedis(options);
    others.push(other);
    return other;
  };
  afterEach(async () => {
    for (const link of links.splice(0)) link.close();
    await Promise.all(others.splice(0).map((other) => other.stop()));
    lines.length = 0;
  });
  const unusable = (link: RedisLink, words: RegExp) =>
    assert.rejects(link.check(), (error: Error) => error instanceof IndexUnusable && words.test(error.message));
  const unavailable = (call: Promise<unknown>, words: RegExp) =>
    assert.rejects(call, (error: Error) => error instanceof IndexUnavailable && words.test(error.message));
  const works = async (link: RedisLink) => {
    const untilMs = runtime.monotonicMs() + 10_000;
    for (;;) {
      try {
        return await link.call(["PING"]);
      } catch (error) {
        if (!(error instanceof IndexUnavailable) || runtime.monotonicMs() > untilMs) throw error;
        await passed(50);
      }
    }
  };

  it("fails at once for a second after an outage, says so once, and works when Redis is back", async () => {
    const other = await started({});
    const link = open(newAddress(other.url));
    await link.check();
    await other.kill();
    await unavailable(link.call(["PING"]), /Redis does not answer/);
    for (let n = 0; n < 100; n++) await unavailable(link.call(["PING"]), /a moment ago/);
    assert.deepEqual(link.load(), { isUp: false, failures: 101 });
    await other.restart();
    assert.deepEqual(await works(link), ["PONG"]);
    const said = lines.map((line) => (JSON.parse(line) as { msg: string }).msg.split(":")[0]);
    assert.deepEqual(said, ["Redis answers", "Redis does not answer", "Redis answers"]);
  });

  it("waits half a second for a Redis that stands still", async () => {
    const other = await started({});
    const link = open(newAddress(other.url));
    await link.check();
    other.freeze();
    const beganMs = runtime.monotonicMs();
    await unavailable(link.call(["PING"]), /within 500 ms/);
    const tookMs = runtime.monotonicMs() - beganMs;
    other.resume();
    assert.ok(tookMs >= 499, `${tookMs} ms`);
    await works(link);
  });

  it("goes on after Redis has refused writes as a replica, or had no memory", async () => {
    const other = await started({});
    const link = open(newAddress(other.url));
    await other.ask("REPLICAOF", "127.0.0.1", "1");
    await unavailable(link.check(), /Redis is a replica/);
    await other.ask("REPLICAOF", "NO", "ONE");
    await works(link);
    await other.ask("CONFIG", "SET", "maxmemory", "1");
    await unavailable(link.call(["SET", link.key("x"), "1"]), /no memory left/);
    await other.ask("CONFIG", "SET", "maxmemory", "0");
    await works(link);
  });

  it("logs in, and names a login, a right or a database that Redis refuses, without the password", async () => {
    const other = await started({ password: "s3cret%2F" });
    await unusable(open(newAddress(`redis://127.0.0.1:${other.port}`)), /has a user or a password that Redis refuses/);
    await unusable(open(newAddress(`redis://:wr0ng@127.0.0.1:${other.port}`)), /a password that Redis refuses/);
    await unusable(open(newAddress(`redis://:s3cret%252F@127.0.0.1:${other.port}/99`)), /a database that this Redis/);
    await open(newAddress(`redis://:s3cret%252F@127.0.0.1:${other.port}/3`)).check();
    await other.ask("ACL", "SETUSER", "ms", "on", ">pw", "~mine:*", "+@all");
    const mine = redisAddress(`redis://ms:pw@127.0.0.1:${other.port}?prefix=mine`) as RedisAddress;
    await open(mine).check();
    await unusable(open({ ...mine, prefix: "theirs" }), /must have a user that may use the keys and commands/);
    assert.doesNotMatch(lines.join(""), /s3cret|wr0ng/);
  });

  it("is encrypted with rediss, and trusts the certificates that the address names", async () => {
    const other = await started({ tls: true });
    await open(newAddress(other.url)).check();
    const stranger = newAddress(`rediss://127.0.0.1:${other.port}`);
    await unavailable(open(stranger).check(), /certificate/);
    await unusable(open({ ...stranger, tls: { ca: "/no/such.pem" } }), /a file that can be read in ca/);
  });

  it("refuses a Redis Cluster", async () => {
    const other = await started({ settings: ["--cluster-enabled", "yes"] });
    await unusable(open(newAddress(other.url)), /a node of a Redis Cluster: it must be a Redis without cluster mode/);
  });

  for (const [title, answer, words] of [
    ["an old Redis", "$21\r\nredis_version:6.0.16\n\r\n", /a Redis of version 6\.0\.16: it must be 6\.2 or newer/],
    ["a server that is no Redis", "$5\r\nhello\r\n", /leads to a server that is no Redis/],
  ] as const)
    it(`refuses ${title}`, async () => {
      const server = createServer((socket) => {
        socket.on("data", (data) => {
          for (const _ of String(data).matchAll(/^\*\d/gm)) socket.write(answer);
        });
        socket.on("error", () => undefined);
      }).listen(0, "127.0.0.1");
      await new Promise((resolve) => server.once("listening", resolve));
      const { port } = server.address() as { port: number };
      await unusable(open(newAddress(`redis://127.0.0.1:${port}`)), words);
      for (const link of links.splice(0)) link.close();
      server.close();
    });

  it("holds ten thousand cancellations, and then takes no further one", async () => {
    const address = newAddress();
    const link = open(address);
    const { cancels } = redisIndex(link, runtime);
    const members = Array.from({ length: CANCELS_MAX }, (_, n) => [1_000 + n, `execution-${n}`]).flat();
    await link.call(["ZADD", link.key("cancels"), ...members]);
    assert.equal(await cancels.add("one more", 2_000), false);
    assert.equal(await cancels.add("execution-7", 2_000), true, "it is there already");
    assert.equal((await cancels.read(null))?.cancels.length, CANCELS_MAX);
  });

  it("writes and reads the workers of a large gateway", async () => {
    const { workers } = redisIndex(open(), runtime);
    const many = Array.from({ length: 10_000 }, (_, n) => status(`worker-${n}`));
    await workers.write("large", many);
    const [entry] = await workers.read(new Set());
    assert.equal(entry?.workers.length, 10_000);
  });

  it("reads nothing into values that are no statuses", async () => {
    const link = open();
    const { workers } = redisIndex(link, runtime);
    await workers.write("a", [status("w")]);
    const wrong = ["", "{", "null", "7", JSON.stringify({ ...status("x"), state: "SLEEPY" })];
    await link.call(["HSET", link.key("workers", "a"), ...wrong.flatMap((text, n) => [`wrong-${n}`, text])]);
    const [entry] = await workers.read(new Set());
    assert.deepEqual(entry?.workers, [status("w")]);
  });
});
