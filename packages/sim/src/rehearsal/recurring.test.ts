import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { task } from "@mainspring/sdk";
import { simulate } from "../index.ts";

const START = "2026-03-27T12:00:00Z";

describe("recurring jobs in a simulated Mainspring", () => {
  it("runs a daily job once a day, on the clocks of its zone, over a clock change", async () => {
    const ran: string[] = [];
    const report = task({ name: "report", run: () => void ran.push(m.clock.now().toISOString()) });
    await using m = await simulate({ tasks: [report], startAt: START });
    const daily = { ...(await report.job(null)), schedule: "30 2 * * *", timezone: "Europe/Berlin" };
    const { jobId } = await m.client.jobs.upsert("report", daily);
    await m.clock.advance("3 days");
    const minutes = ran.map((at) => at.slice(0, 16));
    assert.deepEqual(minutes, ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]);
    const ledger = await Array.fromAsync(m.client.jobs.ledger(jobId));
    assert.deepEqual(
      ledger.map(({ local, outcome, run }) => [local, outcome, run?.late]),
      [
        ["2026-03-30T02:30:00+02:00", "RAN", false],
        ["2026-03-29T03:00:00+02:00", "RAN", false],
        ["2026-03-28T02:30:00+01:00", "RAN", false],
      ],
    );
  });
});
