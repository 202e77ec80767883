import type { JobSubmission } from "@mainspring/contract";
import "../../domain/schedule/testing/zones.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { contradictions, jobDefinition } from "./job-definition.ts";

const NOW = Date.UTC(2026, 0, 1);
const job = (fields: Partial<JobSubmission>): JobSubmission => ({ target: { handler: "echo" }, ...fields });
const errors = (fields: Partial<JobSubmission>) => contradictions(job(fields), NOW);
const fields = (said: Partial<JobSubmission>) => errors(said).map(({ field }) => field);

describe("the rule of a recurring job", () => {
  it("has every default filled in", () => {
    assert.deepEqual(jobDefinition(job({ schedule: "0 3 * * *" }), NOW).recurrence, {
      times: { type: "CRON", cron: "0 3 * * *", timezone: "UTC", dst: { gap: "SHIFT", fold: "FIRST" } },
      ...{ startAt: null, endAt: null, maxFires: null, spreadSec: 0 },
      ...{ overlap: "SKIP", misfire: "FIRE_ONCE", misfireGraceMs: 60_000, maxCatchUp: 100, startWithinMs: null },
    });
    const everySec = jobDefinition(job({ everySec: 1.5, startWithinSec: 30 }), NOW).recurrence;
    assert.deepEqual(everySec?.times, { type: "INTERVAL", everyMs: 1_500, mode: "FIXED_RATE" });
    assert.equal(everySec.startWithinMs, 30_000);
    assert.equal(jobDefinition(job({}), NOW).recurrence, null);
  });

  it("is not mixed with what belongs to another type, each field told by its name", () => {
    assert.deepEqual(fields({ schedule: "@daily", everySec: 5 }), ["everySec"]);
    assert.deepEqual(fields({ schedule: "@daily", runAt: "2030-01-01T00:00:00Z" }), ["runAt"]);
    assert.deepEqual(fields({ everySec: 5, delayMs: 1, startBefore: "2030-01-01T00:00:00Z" }), [
      "delayMs",
      "startBefore",
    ]);
    assert.deepEqual(fields({ everySec: 5, timezone: "UTC", dst: {} }), ["timezone", "dst"]);
    assert.deepEqual(fields({ schedule: "@daily", everyMode: "FIXED_RATE" }), ["everyMode"]);
    assert.deepEqual(fields({ timezone: "UTC", maxFires: 2, misfire: "SKIP" }), ["timezone", "maxFires", "misfire"]);
  });

  it("has the type that it says", () => {
    assert.deepEqual(fields({ type: "CRON", schedule: "@daily" }), []);
    assert.deepEqual(fields({ type: "INTERVAL", everySec: 1 }), []);
    assert.deepEqual(errors({ type: "CRON" }), [
      { field: "schedule", message: "is missing: a job of type CRON has it" },
    ]);
    assert.deepEqual(fields({ type: "INTERVAL" }), ["everySec"]);
    const [said] = errors({ type: "ONCE", schedule: "@daily" });
    assert.deepEqual(said, { field: "type", message: "must be CRON, or left out: schedule makes it so" });
  });

  it("tells what is wrong with a schedule, and where", () => {
    const [cron, zone] = errors({ schedule: "0 24 * * *", timezone: "Mars/Olympus" });
    assert.deepEqual([cron?.field, cron?.position, zone?.field], ["schedule", 3, "timezone"]);
    assert.match(cron?.message ?? "", /must be 0 to 23/);
    assert.deepEqual(fields({ schedule: "0 0 30 2 *" }), ["schedule"]);
    const [ended] = errors({ schedule: "@daily", endAt: "2025-12-31T00:00:00Z" });
    assert.deepEqual([ended?.field, /between now and itself/.test(ended?.message ?? "")], ["endAt", true]);
    // A repeat of a request is judged as the first was.
    assert.deepEqual(contradictions(job({ schedule: "@daily", endAt: "2025-12-31T00:00:00Z" }), 0), []);
    assert.deepEqual(fields({ schedule: "@daily", startAt: "2026-03-01T00:00:00Z", endAt: "2026-02-01T00:00:00Z" }), [
      "endAt",
    ]);
  });

  it("judges no text for long, and never fails", () => {
    const pieces = [
      "*",
      "*/",
      "1-",
      ",",
      "L",
      "W",
      "#",
      "?",
      "MON",
      "JAN-",
      "99",
      "0",
      " ",
      "@",
      "FEB",
      "-",
      "29",
      "٣",
      "\u0000",
    ];
    const text = fc.array(fc.constantFrom(...pieces), { maxLength: 128 }).map((all) => all.join("").slice(0, 256));
    const zone = fc.oneof(fc.string({ maxLength: 256 }), fc.constantFrom("UTC", "Europe/Berlin", "GMT+99", "../etc"));
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ maxLength: 256 })), zone, (schedule, timezone) => {
        for (const error of errors({ schedule, timezone })) assert.ok(error.message.length > 0);
      }),
      { numRuns: 2_000 },
    );
  });
});
