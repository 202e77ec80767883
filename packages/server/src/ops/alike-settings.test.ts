import assert from "node:assert/strict";
import { it } from "node:test";
import { alikeSettings } from "./alike-settings.ts";
import { loadConfig } from "./config.ts";

it("settings that must be the same on all nodes are the way of jobs and those of events that have an effect, without secrets", () => {
  const MAINSPRING_KAFKA = "kafka://user:secret@127.0.0.1:9092";
  assert.deepEqual(alikeSettings(loadConfig({})), {
    MAINSPRING_EVENTS: "",
    MAINSPRING_INGEST: "direct",
    MAINSPRING_REDIS: "",
  });
  const fallback = loadConfig({ MAINSPRING_INGEST: "fallback", MAINSPRING_KAFKA });
  assert.equal(alikeSettings(fallback).MAINSPRING_INGEST, "fallback");
  const kept = { MAINSPRING_EVENTS_KEEP_MIN: "60", MAINSPRING_EVENTS_MAX_MB: "4096" };
  assert.deepEqual(alikeSettings(loadConfig({ MAINSPRING_EVENTS: "api", MAINSPRING_KAFKA })), {
    ...{ MAINSPRING_EVENTS: "api", MAINSPRING_INGEST: "direct", MAINSPRING_REDIS: "", ...kept },
  });
  assert.deepEqual(alikeSettings(loadConfig({ MAINSPRING_EVENTS: "kafka,api", MAINSPRING_KAFKA })), {
    ...{ MAINSPRING_EVENTS: "api,kafka", MAINSPRING_INGEST: "direct", MAINSPRING_REDIS: "", ...kept },
    ...{ MAINSPRING_KAFKA_FORMAT: "json", MAINSPRING_KAFKA_TOPIC_PREFIX: "ms." },
  });
});

it("the Redis must be the same on all nodes, by its database and the prefix of its keys, without its host and login", () => {
  const MAINSPRING_STORE = "postgres://db/mainspring";
  const MAINSPRING_REDIS = "redis://user:secret@127.0.0.1:6379/2?prefix=jobs";
  const settings = alikeSettings(loadConfig({ MAINSPRING_STORE, MAINSPRING_REDIS }));
  assert.equal(settings.MAINSPRING_REDIS, "/2?prefix=jobs");
});
