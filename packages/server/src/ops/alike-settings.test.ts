import assert from "node:assert/strict";
import { it } from "node:test";
import { alikeSettings } from "./alike-settings.ts";
import { loadConfig } from "./config.ts";

it("settings that must be the same on all nodes are the way of jobs and those of events that have an effect, without secrets", () => {
  const MAINSPRING_KAFKA = "kafka://user:secret@127.0.0.1:9092";
  assert.deepEqual(alikeSettings(loadConfig({})), {
    MAINSPRING_EVENTS: "",
    MAINSPRING_INGEST: "direct",
    MAINSPRING_OIDC_ISSUER: "",
    MAINSPRING_REDIS: "",
  });
  const fallback = loadConfig({ MAINSPRING_INGEST: "fallback", MAINSPRING_KAFKA });
  assert.equal(alikeSettings(fallback).MAINSPRING_INGEST, "fallback");
  const kept = { MAINSPRING_EVENTS_KEEP_MIN: "60", MAINSPRING_EVENTS_MAX_MB: "4096" };
  assert.deepEqual(alikeSettings(loadConfig({ MAINSPRING_EVENTS: "api", MAINSPRING_KAFKA })), {
    ...{
      MAINSPRING_EVENTS: "api",
      MAINSPRING_INGEST: "direct",
      MAINSPRING_OIDC_ISSUER: "",
      MAINSPRING_REDIS: "",
      ...kept,
    },
  });
  assert.deepEqual(alikeSettings(loadConfig({ MAINSPRING_EVENTS: "kafka,api", MAINSPRING_KAFKA })), {
    ...{
      MAINSPRING_EVENTS: "api,kafka",
      MAINSPRING_INGEST: "direct",
      MAINSPRING_OIDC_ISSUER: "",
      MAINSPRING_REDIS: "",
      ...kept,
    },
    ...{ MAINSPRING_KAFKA_FORMAT: "json", MAINSPRING_KAFKA_TOPIC_PREFIX: "ms." },
  });
});

it("the Redis must be the same on all nodes, by its database and the prefix of its keys, without its host and login", () => {
  const MAINSPRING_STORE = "postgres://db/mainspring";
  const MAINSPRING_REDIS = "redis://user:secret@127.0.0.1:6379/2?prefix=jobs";
  const settings = alikeSettings(loadConfig({ MAINSPRING_STORE, MAINSPRING_REDIS }));
  assert.equal(settings.MAINSPRING_REDIS, "/2?prefix=jobs");
});

it("the issuer of tokens and the rights that it gives must be the same on all nodes, in whichever order they are written", () => {
  const oidc = { MAINSPRING_OIDC_ISSUER: "https://login.example/realm", MAINSPRING_OIDC_AUDIENCE: "mainspring" };
  const settingsOf = (more = {}) => alikeSettings(loadConfig({ ...oidc, ...more }));
  const plain = settingsOf();
  assert.deepEqual(
    [plain.MAINSPRING_OIDC_ISSUER, plain.MAINSPRING_OIDC_AUDIENCE, plain.MAINSPRING_OIDC_LIFE_SEC],
    ["https://login.example/realm", "mainspring", "3600"],
  );
  const differing = (more: Record<string, string>) => {
    const other = settingsOf(more);
    return Object.keys(plain).filter((name) => other[name] !== plain[name]);
  };
  const others = {
    MAINSPRING_OIDC_ISSUER: "https://other.example",
    MAINSPRING_OIDC_AUDIENCE: "other",
    MAINSPRING_OIDC_ALGORITHMS: "RS256",
    MAINSPRING_OIDC_LIFE_SEC: "600",
    MAINSPRING_OIDC_ROLES_CLAIM: "roles",
    MAINSPRING_OIDC_ROLES: "batch=client",
    MAINSPRING_OIDC_TENANT_CLAIM: "team",
    MAINSPRING_OIDC_POOLS_CLAIM: "pools",
  };
  for (const [name, value] of Object.entries(others)) assert.deepEqual(differing({ [name]: value }), [name]);
  const [one, two] = ["a=client,b=reader", "b=reader,a=client"].map((roles) =>
    settingsOf({ MAINSPRING_OIDC_ROLES: roles }),
  );
  assert.deepEqual(one, two);
});

it("a Redis that is the store must have the same number of replicas and the same durability on all nodes", () => {
  const { MAINSPRING_REDIS_REPLICAS, MAINSPRING_REDIS_DURABILITY } = alikeSettings(
    loadConfig({ MAINSPRING_STORE: "redis://127.0.0.1:6379", MAINSPRING_REDIS_REPLICAS: "2" }),
  );
  assert.deepEqual([MAINSPRING_REDIS_REPLICAS, MAINSPRING_REDIS_DURABILITY], ["2", "always"]);
});
