import { parseArgs } from "node:util";
import { DRILL_RATE, type DrillOptions, drillRun } from "../drill/drill-run.ts";
import { formatReport } from "../format-report.ts";
import { chaosRun } from "./chaos-run.ts";

/** `npm run chaos -- --minutes 60 --seed 7`, or to measure `npm run chaos -- --kills 50 --stops 10`. */
const USAGE =
  "Usage: npm run chaos -- [--minutes N | [--kills N] [--stops N] [--restarts N] [--outages N] [--blackouts N] [--failovers N] [--lossy-failovers N] [--rate N]] [--seed N] [--keep]";
const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "3" },
    kills: { type: "string", default: "0" },
    stops: { type: "string", default: "0" },
    restarts: { type: "string", default: "0" },
    outages: { type: "string", default: "0" },
    blackouts: { type: "string", default: "0" },
    failovers: { type: "string", default: "0" },
    "lossy-failovers": { type: "string", default: "0" },
    rate: { type: "string", default: String(DRILL_RATE) },
    seed: { type: "string", default: "1" },
    keep: { type: "boolean", default: false },
  },
});
const [minutes, seed, rate] = [Number(values.minutes), Number(values.seed), Number(values.rate)];
const times: DrillOptions["times"] = {
  KILL: Number(values.kills),
  STOP: Number(values.stops),
  RESTART: Number(values.restarts),
  OUTAGE: Number(values.outages),
  BLACKOUT: Number(values.blackouts),
  FAILOVER: Number(values.failovers),
  LOSSY_FAILOVER: Number(values["lossy-failovers"]),
};
const counts = Object.values(times);
if (!(minutes >= 0) || !(rate > 0) || ![seed, ...counts].every((count) => Number.isInteger(count) && count >= 0)) {
  console.error(USAGE);
  process.exit(2);
}
// Nothing may be left behind, however it ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));
const telling = { seed, keeps: values.keep, say: (message: string) => console.log(message) };
const isDrill = counts.some((count) => count > 0);
const report = await (isDrill
  ? drillRun({ times, rate, ...telling })
  : chaosRun({ forMs: minutes * 60_000, ...telling }));
console.log(formatReport(report));
// Nothing that a proxy may still hold keeps the answer back.
process.exit(report.violations.length > 0 ? 1 : 0);
