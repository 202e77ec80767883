import { parseArgs } from "node:util";
import { formatReport } from "../format-report.ts";
import { chaosRun } from "./chaos-run.ts";

/** `npm run chaos -- --minutes 60 --seed 7` */
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "3" },
    seed: { type: "string", default: "1" },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
if (!(minutes >= 0) || !Number.isInteger(seed)) {
  console.error("Usage: npm run chaos -- [--minutes N] [--seed N]");
  process.exit(2);
}
// Nothing may be left behind, however it ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const report = await chaosRun({ forMs: minutes * 60_000, seed, say: (message) => console.log(message) });
console.log(formatReport(report));
process.exitCode = report.violations.length > 0 ? 1 : 0;
