import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { kafkaAddress } from "./kafka-address.ts";

describe("the address of Kafka", () => {
  it("names brokers, and how to log in", () => {
    assert.deepEqual(kafkaAddress("kafka://a:9092"), { brokers: ["a:9092"], tls: false, sasl: null });
    assert.deepEqual(kafkaAddress("kafka://me:p%40ss@a.example:9092,[::1]:9093/?tls=on&sasl=scram-sha-512"), {
      brokers: ["a.example:9092", "[::1]:9093"],
      tls: true,
      sasl: { mechanism: "SCRAM-SHA-512", username: "me", password: "p@ss" },
    });
    assert.equal(kafkaAddress("kafka://me:pw@a:1")?.sasl?.mechanism, "PLAIN");
  });

  it("is refused if it is no address", () => {
    const wrong = [
      "",
      "a:9092",
      "http://a:1",
      "kafka://a",
      "kafka://a:0",
      "kafka://a:65536",
      "kafka://a:1,",
      "kafka://:1",
    ];
    const more = ["kafka://me@a:1", "kafka://a:1?tls=yes", "kafka://a:1?sasl=PLAIN", "kafka://me:pw@a:1?sasl=GSSAPI"];
    for (const text of [...wrong, ...more, "kafka://a:1?ssl=on", "kafka://m%:pw@a:1"])
      assert.equal(kafkaAddress(text), null, text);
  });
});
