import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JobBody } from "@mainspring/contract";
import { ExactNumber } from "../../api/exact-json.ts";
import { changedByBoth, draftOf, isGoodDraft, requestOf } from "./job-draft.ts";

const ID = "01999999-0000-7000-8000-000000000001";
const JOB: JobBody = {
  ...{ jobId: ID, tenant: "default", name: "nightly", type: "CRON", state: "ACTIVE", version: 3, nextFireAt: null },
  ...{ priority: 5, labels: { team: "blue" }, createdAt: "2027-01-01T00:00:00Z", updatedAt: "2027-01-01T00:00:00Z" },
  target: { pool: "default", handler: "greet", requires: [] },
  payload: { id: new ExactNumber("12345678901234567890") },
  startBefore: null,
  retryPolicy: { maxAttempts: 5, backoff: "FIXED", initialDelayMs: 1, maxDelayMs: 1, jitter: true },
  ...{ timeoutSec: 60, maxLifetimeSec: 100, cancelGraceSec: 10, maxLost: 3, onWorkerLost: "RETRY", onFinish: null },
  ...{ concurrencyKey: null, concurrencyLimit: 1, uniqueKey: null, latestExecutions: [], fires: 7, catchUps: [] },
  ...{ schedule: "30 2 * * *", timezone: "Europe/Berlin", dst: { gap: "SKIP" }, overlap: "SKIP", misfire: "SKIP" },
};

describe("the draft of a job", () => {
  it("has the whole definition, and no more than a request takes", () => {
    const { payload, ...sent } = JSON.parse(requestOf(draftOf(JOB)));
    const ofServer = ["jobId", "tenant", "type", "state", "version", "nextFireAt", "createdAt", "updatedAt", "fires"];
    const absent = ["catchUps", "latestExecutions", "startBefore", "onFinish", "concurrencyKey", "uniqueKey"];
    const leftOut = new Set([...ofServer, ...absent, "concurrencyLimit", "payload"]);
    assert.deepEqual(sent, Object.fromEntries(Object.entries(JOB).filter(([name]) => !leftOut.has(name))));
    assert.ok(payload.id > 1e19);
    assert.match(requestOf(draftOf(JOB)), /"id":\s*12345678901234567890/);
    const keyed = { ...JOB, concurrencyKey: "customer-1", concurrencyLimit: 2 };
    assert.equal(JSON.parse(requestOf(draftOf(keyed))).concurrencyLimit, 2);
  });

  it("leaves out what is empty, and does not take another payload from the settings", () => {
    const draft = {
      ...draftOf(JOB),
      overlap: " ",
      everySec: "90",
      payload: "",
      settings: '{"payload": 1, "maxFires": 2}',
    };
    const { schedule, timezone } = JOB;
    assert.deepEqual(JSON.parse(requestOf(draft)), {
      maxFires: 2,
      schedule,
      timezone,
      misfire: "SKIP",
      priority: 5,
      everySec: 90,
    });
  });

  it("is no good with other settings than an object, or a payload that is no JSON", () => {
    const draft = draftOf(JOB);
    const others = [{ settings: "[]" }, { settings: "1" }, { settings: "{" }, { payload: "{" }];
    assert.deepEqual(
      others.map((other) => isGoodDraft({ ...draft, ...other })),
      [false, false, false, false],
    );
    assert.ok(isGoodDraft({ ...draft, settings: "", payload: "null" }));
  });

  it("tells fields that two people have changed from those that one has", () => {
    const present = { ...draftOf(JOB), schedule: "0 4 * * *", priority: "9" };
    const given = { schedule: "0 5 * * *", timezone: "UTC", priority: "9" };
    assert.deepEqual(changedByBoth(given, draftOf(JOB), present), ["schedule"]);
  });
});
