import assert from "node:assert/strict";
import { it } from "node:test";
import { formatReport } from "../format-report.ts";
import { RELEASE_BEFORE } from "../stage/release.ts";
import { upgradeRun } from "./upgrade-run.ts";

it("a cluster of the release before is upgraded under load, node by node and then its store: nothing is lost, and nothing runs twice", async () => {
  const say = (message: string) => console.log(message);
  const report = await upgradeRun({ from: RELEASE_BEFORE, rate: 20, betweenMs: 1_000, seed: 1, say });
  say(formatReport(report));
  assert.deepEqual(report.violations, []);
});
