import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ExecutionSteps } from "@mainspring/sdk";
import { stepsText } from "./steps-text.ts";

const executionId = "0190f1d2-0000-7000-8000-000000000000";
const recorded = { attempt: 2, recordedAt: "2026-03-01T00:00:00.000Z" };
const until = "2026-03-04T00:00:00.000Z";
const NONE: ExecutionSteps = { executionId, steps: [], checkpoint: null, waits: [], signals: [] };

describe("durable steps for people", () => {
  it("are one table of records, waits and signals", () => {
    const text = stepsText({
      executionId,
      steps: [
        { name: "charge", value: { paid: 3 }, ...recorded },
        { name: "big", value: "x".repeat(500), ...recorded },
      ],
      checkpoint: { data: { row: 7 }, ...recorded },
      waits: [
        { name: "three days", until, signals: [], ...recorded },
        { name: "decision", until, signals: ["approved", "rejected"], ...recorded },
      ],
      signals: [{ signalId: "s-1", name: "hurry", data: null, acceptedAt: recorded.recordedAt }],
    });
    const at = recorded.recordedAt;
    assert.deepEqual(text.split("\n"), [
      `execution  ${executionId}`,
      "",
      "KIND        NAME        ATTEMPT  SINCE                     VALUE",
      `STEP        charge      2        ${at}  {"paid":3}`,
      `STEP        big         2        ${at}  "${"x".repeat(79)}… (502 characters)`,
      `CHECKPOINT  -           2        ${at}  {"row":7}`,
      `SLEEP       three days  2        ${at}  until ${until}`,
      `WAIT        decision    2        ${at}  for approved, rejected, until ${until}`,
      `SIGNAL      hurry       -        ${at}  null (id s-1)`,
    ]);
  });

  it("are said to be none, also by a server of an earlier release", () => {
    assert.equal(stepsText(NONE), "no steps, no checkpoint and no signals");
    const { waits: _, signals: __, ...older } = NONE;
    assert.equal(stepsText(older), "no steps, no checkpoint and no signals");
  });

  it("show control characters instead of letting the terminal obey them", () => {
    const steps = [{ name: "\u001b[2J", value: "\u009b2J", ...recorded }];
    const text = stepsText({ ...NONE, steps });
    assert.match(text, /\\u001b\[2J/);
    assert.ok(!text.includes("\u001b") && !text.includes("\u009b"));
  });
});
