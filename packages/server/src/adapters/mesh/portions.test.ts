import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PORTION_MAX_BYTES, PORTION_MAX_ITEMS } from "./limits.ts";
import type { Letter } from "./packet.ts";
import { portions } from "./portions.ts";

const result = (executionId: string, bytes: number) => ({
  ...{ shard: 1, executionId, attempt: 1, workerId: "w", state: "SUCCEEDED" as const, startedAt: 1, finishedAt: 2 },
  ...{ result: bytes === 0 ? null : new Uint8Array(bytes), error: null, advice: null },
});
const finished = (count: number, bytes: number): Letter => {
  const results = Array.from({ length: count }, (_, n) => result(`e${n}`, bytes));
  return { role: "scheduler", message: { kind: "FINISHED", results } };
};
const resultsOf = ({ message }: Letter) => (message.kind === "FINISHED" ? message.results : []);

describe("what leaves for a node together", () => {
  it("is cut into packets of a bounded number of items, in order", () => {
    const whole = finished(10_000, 0);
    const packets = portions([whole]);
    assert.equal(packets.length, 10_000 / PORTION_MAX_ITEMS);
    assert.deepEqual(packets.flat().flatMap(resultsOf), resultsOf(whole));
  });

  it("is cut into packets of bounded payloads", () => {
    const packets = portions([finished(20, 1024 * 1024)]);
    for (const packet of packets) {
      const bytes = packet.flatMap(resultsOf).reduce((sum, one) => sum + (one.result?.length ?? 0), 0);
      assert.ok(bytes <= PORTION_MAX_BYTES);
    }
    assert.equal(packets.length, 3);
  });

  it("has a bounded number of messages, and one that cannot be cut is alone", () => {
    const final: Letter = { role: "api", message: { kind: "FINAL", executionId: "e", state: "DEAD" } };
    const tokens = Array.from({ length: 5_000 }, () => ({ shard: 1, executionId: "e", attempt: 1 }));
    const ack: Letter = { role: "gateway", message: { kind: "ACK", workerId: "w", tokens } };
    const letters = [...Array.from({ length: 2_500 }, () => final), ack, final];
    const packets = portions(letters);
    assert.deepEqual(
      packets.map(({ length }) => length),
      [1_000, 1_000, 500, 1, 1],
    );
    assert.deepEqual(packets.flat(), letters);
  });
});
