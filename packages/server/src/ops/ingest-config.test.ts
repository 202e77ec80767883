import assert from "node:assert/strict";
import { it } from "node:test";
import { loadConfig } from "./config.ts";

it("MAINSPRING_INGEST wants brokers, and a Node that the client of Kafka runs on", () => {
  const MAINSPRING_KAFKA = "kafka://127.0.0.1:9092";
  for (const MAINSPRING_INGEST of ["fallback", "kafka"]) {
    const message = `MAINSPRING_KAFKA must be set, as kafka://host:9092, where MAINSPRING_INGEST is ${MAINSPRING_INGEST}`;
    assert.throws(() => loadConfig({ MAINSPRING_INGEST }), { name: "ConfigError", message });
    assert.equal(loadConfig({ MAINSPRING_INGEST, MAINSPRING_KAFKA }).ingest, MAINSPRING_INGEST);
    assert.throws(() => loadConfig({ MAINSPRING_INGEST, MAINSPRING_KAFKA }, "22.18.0"), {
      name: "ConfigError",
      message: "MAINSPRING_INGEST must be direct with Node 22.18.0: install Node 22.22, 24.6 or newer",
    });
  }
  assert.throws(
    () => loadConfig({ MAINSPRING_INGEST: "rabbit" }),
    /MAINSPRING_INGEST must be direct or fallback or kafka/,
  );
});
