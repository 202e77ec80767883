import { writeFileSync } from "node:fs";
import { refuse, valuesOf } from "../command-line.ts";
import { formatReport } from "../format-report.ts";
import { soakRun } from "./soak-run.ts";

/** `npm run soak -- --minutes 60`. */
const USAGE = "Usage: npm run soak -- [--minutes N] [--seed N] [--keep] [--json FILE]";
const values = valuesOf(USAGE, {
  minutes: { type: "string", default: "60" },
  seed: { type: "string", default: "1" },
  json: { type: "string" },
  keep: { type: "boolean", default: false },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes > 0) || !Number.isInteger(seed) || seed < 0) refuse(USAGE);
// No process or folder is left behind, however the run ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const say = (message: string) => console.log(message);
const report = await soakRun({ forMs: minutes * 60_000, seed, keeps: values.keep, say });
console.log(formatReport(report));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report, null, 2)}\n`);
// The explicit exit keeps connections that a proxy may still hold from delaying the answer.
process.exit(report.violations.length > 0 ? 1 : 0);
