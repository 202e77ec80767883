import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LedgerItem, task } from "@mainspring/sdk";
import { type Simulation, simulate } from "./index.ts";

const START = "2026-03-27T12:00:00Z";

/** Entries of a job's ledger, oldest first. */
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

  it("lets a program say again what has come to its end, and not something else", async () => {
    const tick = task({ name: "tick", run: () => "done" });
    await using m = await simulate({ tasks: [tick], startAt: START });
    const hourly = { ...(await tick.job(null)), schedule: "@hourly" };
    const bounded = { ...hourly, endAt: "2026-03-27T14:30:00Z" };
    const counted = { ...hourly, maxFires: 2 };
    await m.client.jobs.upsert("bounded", bounded);
    const { jobId } = await m.client.jobs.upsert("counted", counted);
    await m.clock.advance("3h");
    for (const [name, job] of [
      ["bounded", bounded],
      ["counted", counted],
    ] as const) {
      const { changed, state, nextFireAt } = await m.client.jobs.upsert(name, job);
      assert.deepEqual([changed, state, nextFireAt], [false, "FINISHED", null], name);
      await assert.rejects(
        m.client.jobs.upsert(name, { ...job, overlap: "ALLOW" }),
        /now and itself|is FINISHED/,
        name,
      );
    }
    assert.deepEqual(outcomes(await ledgerOf(m, jobId)), ["RAN", "RAN"]);
    await assert.rejects(m.client.jobs.pause(jobId), /the job is FINISHED/);
  });

  it("follows an edit from now on, and makes up for what it is asked for", async () => {
    const planned: string[] = [];
    const tick = task({
      name: "tick",
      run: (_: null, ctx) => void planned.push(ctx.scheduledAt.toISOString().slice(11, 16)),
    });
    await using m = await simulate({ tasks: [tick], startAt: START });
    const { jobId } = await m.client.jobs.upsert("tick", { ...(await tick.job(null)), schedule: "0 * * * *" });
    await m.clock.advance("1h 1 min");
    const edited = m.client.jobs.upsert("tick", { ...(await tick.job(null)), schedule: "30 * * * *" });
    await m.clock.advance("1h");
    assert.equal((await edited).version, 2);
    assert.deepEqual(planned, ["13:00", "13:30"]);
    const started = m.client.jobs.backfill(jobId, { since: "2026-03-27T10:00:00Z", until: "2026-03-27T12:00:00Z" });
    await m.clock.advance("1 min");
    assert.equal((await started).backfill.planned, 2);
    assert.deepEqual(planned, ["13:00", "13:30", "10:30", "11:30"]);
    const ledger = await ledgerOf(m, jobId);
    assert.deepEqual(
      ledger.map(({ at, outcome, run }) => `${at.slice(11, 16)} ${outcome} ${run?.trigger}`),
      ["10:30 RAN BACKFILL", "11:30 RAN BACKFILL", "13:00 RAN SCHEDULE", "13:30 RAN SCHEDULE"],
    );
  });
});
