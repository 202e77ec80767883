import assert from "node:assert/strict";
import { it } from "node:test";
import { complaint, configFiles } from "./config.fixture.ts";
import { loadConfig } from "./config.ts";

const POSTGRES = "postgres://db/mainspring";
const REDIS = "redis://me:p4ssw0rd@cache:6380/1?prefix=jobs";
const ADDRESS = {
  ...{ host: "cache", port: 6_380, tls: null, login: { name: "me", password: "p4ssw0rd" } },
  ...{ database: 1, prefix: "jobs" },
};
const file = configFiles();

/** Asserts that the settings are refused by these words, without the password. */
function refused(settings: Record<string, string>, words: RegExp) {
  const said = complaint(settings);
  assert.match(said, words);
  assert.doesNotMatch(said, /p4ssw0rd/);
}

it("a configuration takes a Redis beside a PostgreSQL, and none beside another store", () => {
  const beside = { MAINSPRING_STORE: POSTGRES, MAINSPRING_REDIS: REDIS };
  assert.deepEqual(loadConfig(beside).redis, ADDRESS);
  assert.equal(loadConfig(beside).redisStore, null);
  refused({ MAINSPRING_REDIS: REDIS }, /^MAINSPRING_REDIS must not be set where MAINSPRING_STORE is embedded: /);
  refused(
    { MAINSPRING_STORE: REDIS, MAINSPRING_REDIS: REDIS },
    /^MAINSPRING_REDIS must not be set where MAINSPRING_STORE is a Redis: /,
  );
  assert.equal(loadConfig({ ...beside, MAINSPRING_REDIS_WINDOW: "on" }).redisWindow, true);
  const lacking = "MAINSPRING_REDIS must be set, as redis://host:6379, where MAINSPRING_REDIS_WINDOW is on";
  refused({ MAINSPRING_STORE: POSTGRES, MAINSPRING_REDIS_WINDOW: "on" }, new RegExp(`^${lacking}$`));
  const wrong = { MAINSPRING_STORE: POSTGRES, MAINSPRING_REDIS: "http://:p4ssw0rd@cache" };
  refused(wrong, /^MAINSPRING_REDIS must be redis:\/\/host:6379 or rediss/);
});

it("a configuration takes a Redis as the store, from a file too, with defaults for a store in memory", () => {
  const config = loadConfig({ MAINSPRING_STORE: REDIS });
  assert.deepEqual(config.redisStore, { address: ADDRESS, replicas: 0, isRelaxed: false });
  const { retentionDays, eventsMaxMb, audit, sqlSubmit, redis } = config;
  assert.deepEqual([retentionDays, eventsMaxMb, audit.days, sqlSubmit, redis], [1, 256, 30, false, null]);
  assert.equal(config.retentionMax, 2_000_000);
  assert.equal(loadConfig({ MAINSPRING_STORE: REDIS, MAINSPRING_RETENTION_MAX: "1000" }).retentionMax, 1_000);
  const own = { MAINSPRING_RETENTION_DAYS: "3", MAINSPRING_AUDIT_DAYS: "7", MAINSPRING_EVENTS_MAX_MB: "64" };
  const chosen = loadConfig({ MAINSPRING_STORE_FILE: file(`${REDIS}\n`), ...own });
  assert.deepEqual([chosen.retentionDays, chosen.audit.days, chosen.eventsMaxMb], [3, 7, 64]);
  const safer = { MAINSPRING_REDIS_REPLICAS: "2", MAINSPRING_REDIS_DURABILITY: "relaxed" };
  const encrypted = loadConfig({ MAINSPRING_STORE: "rediss://:p4ssw0rd@[::1]?ca=/ca.pem", ...safer }).redisStore;
  assert.deepEqual([encrypted?.address.tls, encrypted?.replicas, encrypted?.isRelaxed], [{ ca: "/ca.pem" }, 2, true]);
});

it("a configuration refuses settings that need a PostgreSQL where Redis is the store, and the other way round", () => {
  const off = [
    ["MAINSPRING_SQL_SUBMIT", "on", /^MAINSPRING_SQL_SUBMIT must be off where .* or through Kafka$/],
    ["MAINSPRING_STORE_SCHEMA", "jobs", /^MAINSPRING_STORE_SCHEMA must not be set where .* \?prefix=NAME /],
    ["MAINSPRING_REDIS_WINDOW", "on", /^MAINSPRING_REDIS_WINDOW must be off where /],
  ] as const;
  for (const [name, value, words] of off) refused({ MAINSPRING_STORE: REDIS, [name]: value }, words);
  refused({ MAINSPRING_STORE: "redis://me:p4ssw0rd@" }, /^MAINSPRING_STORE must be redis:\/\/host:6379 or rediss/);
  refused(
    { MAINSPRING_STORE: POSTGRES, MAINSPRING_REDIS_REPLICAS: "1" },
    /^MAINSPRING_REDIS_REPLICAS must be 0 where /,
  );
  refused({ MAINSPRING_RETENTION_MAX: "5000" }, /^MAINSPRING_RETENTION_MAX must not be set where .* no redis:/);
  refused({ MAINSPRING_REDIS_DURABILITY: "relaxed" }, /^MAINSPRING_REDIS_DURABILITY must be always where /);
  refused({ MAINSPRING_STORE: REDIS, MAINSPRING_REDIS_DURABILITY: "everysec" }, /must be always or relaxed$/);
});
