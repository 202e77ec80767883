import assert from "node:assert/strict";
import { it } from "node:test";
import { formatReport } from "../format-report.ts";
import { drillRun } from "./drill-run.ts";

it("a cluster is restarted node by node under load: no attempt fails, and none runs twice", async () => {
  const say = (message: string) => console.log(message);
  const report = await drillRun({ times: { RESTART: 3 }, seed: 1, say });
  say(formatReport(report));
  assert.deepEqual(report.violations, []);
});
