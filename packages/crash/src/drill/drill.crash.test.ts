import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatReport } from "../format-report.ts";
import { type DrillOptions, drillRun } from "./drill-run.ts";

/** The test asserts no measured time, because machines differ. */
describe("a cluster under load", () => {
  async function violationsOf(times: DrillOptions["times"]) {
    const say = (message: string) => console.log(message);
    const report = await drillRun({ times, seed: 1, say });
    say(formatReport(report));
    return report.violations;
  }

  it("is restarted node by node: no attempt fails, and none runs twice", async () => {
    assert.deepEqual(await violationsOf({ RESTART: 3 }), []);
  });

  it("finds the primary after a failover to a synchronous standby: nothing is lost, and nothing runs twice", async () => {
    assert.deepEqual(await violationsOf({ FAILOVER: 1 }), []);
  });

  it("says so while its PostgreSQL is down or cannot be reached; what runs meanwhile runs once, and counts", async () => {
    assert.deepEqual(await violationsOf({ OUTAGE: 1, BLACKOUT: 1 }), []);
  });
});
