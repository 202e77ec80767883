import assert from "node:assert/strict";
import { it } from "node:test";
import { alikeSettings } from "./alike-settings.ts";
import { loadConfig } from "./config.ts";

it("settings that must be the same on all nodes are the way of jobs and those of events that have an effect, without secrets", () => {
  const MAINSPRING_KAFKA = "kafka://user:secret@127.0.0.1:9092";
  assert.deepEqual(alikeSettings(loadConfig({})), { MAINSPRING_EVENTS: "", MAINSPRING_INGEST: "direct" });
  const fallback = loadConfig({ MAINSPRING_INGEST: "fallback", MAINSPRING_KAFKA });
  assert.equal(alikeSettings(fallback).MAINSPRING_INGEST, "fallback");
  const kept = { MAINSPRING_EVENTS_KEEP_MIN: "60", MAINSPRING_EVENTS_MAX_MB: "4096" };
  assert.deepEqual(alikeSettings(loadConfig({ MAINSPRING_EVENTS: "api", MAINSPRING_KAFKA })), {
    ...{ MAINSPRING_EVENTS: "api", MAINSPRING_INGEST: "direct", ...kept },
  });
  assert.deepEqual(alikeSettings(loadConfig({ MAINSPRING_EVENTS: "kafka,api", MAINSPRING_KAFKA })), {
    ...{ MAINSPRING_EVENTS: "api,kafka", MAINSPRING_INGEST: "direct", ...kept },
    ...{ MAINSPRING_KAFKA_FORMAT: "json", MAINSPRING_KAFKA_TOPIC_PREFIX: "ms." },
  });
});
