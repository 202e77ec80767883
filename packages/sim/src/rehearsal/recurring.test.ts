import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LedgerItem, task } from "@mainspring/sdk";
import { type Simulation, simulate } from "../index.ts";

const START = "2026-03-27T12:00:00Z";

/** What the ledger of a job says, oldest first. */
async function ledgerOf(m: Simulation, jobId: string): Promise<LedgerItem[]> {
  const items: LedgerItem[] = [];
  for await (const item of m.client.jobs.ledger(jobId)) items.unshift(item);
  return items;
}

const outcomes = (items: readonly LedgerItem[]) =>
  items.map(({ outcome, reason }) => (reason ? `${outcome} ${reason}` : outcome));

describe("recurring jobs in a simulated Mainspring", () => {
  it("runs a daily job once a day, on the clocks of its zone, over a clock change", async () => {
    const ran: string[] = [];
    const report = task({ name: "report", run: () => void ran.push(m.clock.now().toISOString().slice(0, 16)) });
    await using m = await simulate({ tasks: [report], startAt: START });
    const daily = { ...(await report.job(null)), schedule: "30 2 * * *", timezone: "Europe/Berlin" };
    const { jobId } = await m.client.jobs.upsert("report", daily);
    await m.clock.advance("3 days");
    assert.deepEqual(ran, ["2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"]);
    const ledger = await ledgerOf(m, jobId);
    assert.deepEqual(
      ledger.map(({ local, outcome, run }) => `${local} ${outcome} ${run?.late}`),
      [
        "2026-03-28T02:30:00+01:00 RAN false",
        "2026-03-29T03:00:00+02:00 RAN false",
        "2026-03-30T02:30:00+02:00 RAN false",
      ],
    );
  });

  it("leaves out what falls due while the one before runs, and says so", async () => {
    const slow = task({ name: "slow", run: (_: null, ctx) => ctx.sleep(90_000) });
    await using m = await simulate({ tasks: [slow], startAt: START });
    const { jobId } = await m.client.jobs.upsert("slow", { ...(await slow.job(null)), everySec: 60 });
    await m.clock.advance("4 min 1s");
    assert.deepEqual(outcomes(await ledgerOf(m, jobId)), ["RAN", "SKIPPED OVERLAP", "RAN", "SKIPPED OVERLAP"]);
  });

  it("accounts for what falls into a pause, and runs when it is triggered", async () => {
    let runs = 0;
    const tick = task({ name: "tick", run: () => ++runs });
    await using m = await simulate({ tasks: [tick], startAt: START });
    const { jobId } = await m.client.jobs.upsert("tick", { ...(await tick.job(null)), schedule: "@hourly" });
    await m.clock.advance("1h 1 min");
    await m.client.jobs.pause(jobId);
    assert.equal((await m.waitFor(await m.client.jobs.trigger(jobId))).result, 2);
    await m.clock.advance("2h");
    await m.client.jobs.resume(jobId);
    await m.clock.advance("1h");
    assert.equal(runs, 3);
    assert.deepEqual(outcomes(await ledgerOf(m, jobId)), ["RAN", "SKIPPED PAUSED", "SKIPPED PAUSED", "RAN"]);
  });
});
