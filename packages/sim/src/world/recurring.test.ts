import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import { History } from "../history.ts";
import { CALM_MS } from "../simulate.ts";
import { Recurring } from "./recurring.ts";
import type { SimServer } from "./sim-server.ts";
import type { Work } from "./sim-worker.ts";
import type { ReceivedJob } from "./some-definition.ts";
import { CATCH_UP_MAX } from "./some-rule.ts";

const JOBS = 200;

describe("recurring jobs of a simulation", () => {
  it("wait so briefly that all their catch-ups, one after the other, end before the simulation does", async () => {
    const clock = new VirtualClock();
    const waitsMs: number[] = [];
    const take = (_: unknown, [received]: readonly ReceivedJob[]) => {
      const { waits } = JSON.parse(Buffer.from(received?.payload ?? []).toString()) as Work;
      waitsMs.push(waits.reduce((sum, { forMs }) => sum + forMs, 0));
      return Promise.resolve({ bodies: [] });
    };
    const server = { intake: { take } } as unknown as SimServer;
    const recurring = new Recurring(clock, new SeededRandom(1), new History(clock), () => server);
    recurring.plan(JOBS, 1_000, 1_000, { untilMs: Number.POSITIVE_INFINITY, isWanted: () => true });
    await clock.runUntil(1_000);
    assert.equal(waitsMs.length, JOBS);
    const longestMs = Math.max(...waitsMs);
    assert.ok(longestMs > 0 && CATCH_UP_MAX * longestMs < CALM_MS, `${longestMs} ms for one execution`);
  });
});
