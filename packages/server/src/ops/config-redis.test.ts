import assert from "node:assert/strict";
import { it } from "node:test";
import { ConfigError, loadConfig } from "./config.ts";

it("a configuration takes a Redis beside a PostgreSQL, and none beside the embedded store", () => {
  const refused = (settings: Record<string, string>, words: RegExp) =>
    assert.throws(
      () => loadConfig(settings),
      (error: Error) =>
        error instanceof ConfigError && words.test(error.message) && !error.message.includes("p4ssw0rd"),
    );
  const MAINSPRING_STORE = "postgres://db/mainspring";
  const MAINSPRING_REDIS = "redis://me:p4ssw0rd@cache:6380/1?prefix=jobs";
  assert.deepEqual(loadConfig({ MAINSPRING_STORE, MAINSPRING_REDIS }).redis, {
    ...{ host: "cache", port: 6_380, tls: null, login: { name: "me", password: "p4ssw0rd" } },
    ...{ database: 1, prefix: "jobs" },
  });
  refused({ MAINSPRING_REDIS }, /^MAINSPRING_REDIS must not be set where MAINSPRING_STORE is embedded: /);
  assert.equal(loadConfig({ MAINSPRING_STORE, MAINSPRING_REDIS, MAINSPRING_REDIS_WINDOW: "on" }).redisWindow, true);
  const lacking = "MAINSPRING_REDIS must be set, as redis://host:6379, where MAINSPRING_REDIS_WINDOW is on";
  refused({ MAINSPRING_STORE, MAINSPRING_REDIS_WINDOW: "on" }, new RegExp(`^${lacking}$`));
  const wrong = { MAINSPRING_STORE, MAINSPRING_REDIS: "http://:p4ssw0rd@cache" };
  const asStore = { MAINSPRING_STORE: MAINSPRING_REDIS };
  refused(
    asStore,
    /^MAINSPRING_STORE must be "embedded" or the URL of a PostgreSQL: Redis as the store is not complete/,
  );
  refused(wrong, /^MAINSPRING_REDIS must be redis:\/\/host:6379 or rediss/);
});
