import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { behaviourOf, sentAtMs } from "./replay.ts";
import type { SentRequest } from "./visit.ts";

const sent = (path: string, fromMs: number, more: Partial<SentRequest> = {}): SentRequest => ({
  ...{ method: "GET", path, headers: {}, kind: "Fetch", fromMs, untilMs: fromMs + 5, status: 200, bytes: 900 },
  ...more,
});
const VISIT = [
  sent("/console/assets/index.js", 20),
  sent("/v1/me", 50),
  sent("/v1/stats", 60),
  sent("/v1/stats", 2_060),
  sent("/v1/pools?limit=50", 3_000),
  sent("/v1/stats", 4_060, { untilMs: Number.POSITIVE_INFINITY, status: 0, bytes: 0 }),
];

describe("the replay of a page", () => {
  it("has the answered requests to the API after the first view", () => {
    const { requests, lengthMs } = behaviourOf(VISIT, 2_000, 4_000);
    assert.deepEqual(
      requests.map(({ path, fromMs }) => [path, fromMs]),
      [
        ["/v1/stats", 60],
        ["/v1/pools?limit=50", 1_000],
      ],
    );
    assert.equal(lengthMs, 4_000);
  });

  it("is refused for a page that follows a stream", () => {
    const stream = sent("/v1/executions/x/events", 80, { untilMs: Number.POSITIVE_INFINITY });
    assert.throws(() => behaviourOf([...VISIT, stream], 2_000, 4_000), /follows \/v1\/executions\/x\/events/);
  });

  it("spreads its clients over the record, and begins again after it", () => {
    const behaviour = behaviourOf(VISIT, 2_000, 4_000);
    assert.equal(sentAtMs(behaviour, 1, 0, 0), 1_000);
    assert.equal(sentAtMs(behaviour, 1, 0, 0.5), -1_000);
    assert.equal(sentAtMs(behaviour, 1, 1, 0.5), 3_000);
    assert.equal(sentAtMs(behaviour, 0, 2, 0), 8_060);
  });
});
