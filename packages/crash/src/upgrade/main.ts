import { writeFileSync } from "node:fs";
import { refuse, valuesOf } from "../command-line.ts";
import { DRILL_RATE } from "../drill/drill-run.ts";
import { RELEASE_BEFORE } from "../environment/release.ts";
import { formatReport } from "../format-report.ts";
import { upgradeRun } from "./upgrade-run.ts";

/** `npm run upgrade`, or from another commit `npm run upgrade -- --from v0.1.0`. */
const USAGE =
  "Usage: npm run upgrade -- [--from COMMIT] [--rate N] [--between-sec N] [--seed N] [--keep] [--json FILE]";
const values = valuesOf(USAGE, {
  from: { type: "string", default: RELEASE_BEFORE },
  rate: { type: "string", default: String(DRILL_RATE) },
  "between-sec": { type: "string", default: "10" },
  seed: { type: "string", default: "1" },
  json: { type: "string" },
  keep: { type: "boolean", default: false },
});
const [rate = 0, betweenSec = 0, seed = 0] = [values.rate, values["between-sec"], values.seed].map(Number);
if (!(rate > 0) || !(betweenSec >= 0) || !Number.isInteger(seed) || seed < 0) refuse(USAGE);
// No process or folder is left behind, however the run ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const say = (message: string) => console.log(message);
const options = { from: values.from, rate, betweenMs: betweenSec * 1_000, seed, keeps: values.keep };
const report = await upgradeRun({ ...options, say });
console.log(formatReport(report));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
// The explicit exit keeps connections that a proxy may still hold from delaying the answer.
process.exit(report.violations.length > 0 ? 1 : 0);
