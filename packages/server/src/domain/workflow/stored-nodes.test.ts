import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEFAULT_POLICY } from "../job.ts";
import type { StoredNode } from "./definition.ts";
import { decodeNodes, encodingNodes } from "./stored-nodes.ts";

const RARE = { ...DEFAULT_POLICY, timeoutMs: 1 };

function nodes(count: number): StoredNode[] {
  return Array.from({ length: count }, (_, number) => ({
    ...{ name: `n${number}\n`, pool: "default", handler: "work", requires: [], priority: 5, payloadBytes: number },
    policy: { ...(number % 700 === 3 ? RARE : DEFAULT_POLICY) },
  }));
}

function encoded(given: readonly StoredNode[]): { steps: number; bytes: Uint8Array } {
  const work = encodingNodes(given);
  for (let steps = 0; ; steps++) {
    const { done, value } = work.next();
    if (done === true) return { steps, bytes: value };
  }
}

describe("stored definitions of nodes", () => {
  for (const count of [1, 2, 500, 501, 1_600]) {
    it(`come back as they were: ${count} nodes`, () => {
      assert.deepEqual(decodeNodes(encoded(nodes(count)).bytes), nodes(count));
    });
  }

  it("are encoded in steps, with each policy once", () => {
    const { steps, bytes } = encoded(nodes(1_600));
    assert.equal(steps, 4);
    assert.equal(Buffer.from(bytes).toString().split("timeoutMs").length - 1, 2);
    const [first, second] = decodeNodes(bytes);
    assert.equal(first?.policy, second?.policy);
  });
});
