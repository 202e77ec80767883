import { refuse, valuesOf } from "./command-line.ts";
import { crashRun } from "./crash-run.ts";
import { STORE_KINDS, type StoreKind } from "./environment/environment.ts";
import { formatReport } from "./format-report.ts";

/** Longer run by hand: `node src/main.ts --store embedded|postgres --seconds 600 --seed 7`. */
const USAGE = `Usage: node src/main.ts [--store ${STORE_KINDS.join("|")}] [--seconds N] [--seed N]`;
const values = valuesOf(USAGE, {
  store: { type: "string", default: "embedded" },
  seconds: { type: "string", default: "60" },
  seed: { type: "string", default: "1" },
});
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
if (!STORE_KINDS.includes(values.store as StoreKind) || !(seconds >= 0) || !Number.isInteger(seed)) refuse(USAGE);
const report = await crashRun({
  store: values.store as StoreKind,
  forMs: seconds * 1_000,
  seed,
  say: (message) => console.log(message),
});
console.log(formatReport(report));
process.exitCode = report.violations.length > 0 ? 1 : 0;
