import assert from "node:assert/strict";
import { it } from "node:test";
import { formatReport } from "../format-report.ts";
import { flightRun } from "./flight-run.ts";

/** Longest time in which a worker's death is noticed in any way, on a slow machine too, in milliseconds. */
const LONGEST_MS = 90_000;

it("work that a killed node had on its own worker and on one beside it is done by the others", async () => {
  const say = (message: string) => console.log(message);
  const report = await flightRun({ kills: 2, seed: 1, demandsGoals: false, say });
  say(formatReport(report));
  const { builtInCount = 0, externalCount = 0, builtInGapMaxMs = 0, externalGapMaxMs = 0 } = report.figures;
  assert.deepEqual(report.violations, []);
  assert.ok(builtInCount > 0 && externalCount > 0, "both kinds were in flight");
  assert.ok(Math.max(builtInGapMaxMs, externalGapMaxMs) < LONGEST_MS);
});
