import { parseArgs } from "node:util";
import { crashRun } from "./crash-run.ts";
import { STORE_KINDS, type StoreKind } from "./environment/environment.ts";
import { formatReport } from "./format-report.ts";

/** Longer run by hand: `node src/main.ts --store embedded|postgres --seconds 600 --seed 7`. */
const { values } = parseArgs({
  options: {
    store: { type: "string", default: "embedded" },
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
  },
});
const [seconds, seed] = [Number(values.seconds), Number(values.seed)];
if (!STORE_KINDS.includes(values.store as StoreKind) || !(seconds >= 0) || !Number.isInteger(seed)) {
  console.error(`Usage: node src/main.ts [--store ${STORE_KINDS.join("|")}] [--seconds N] [--seed N]`);
  process.exit(2);
}
const report = await crashRun({
  store: values.store as StoreKind,
  forMs: seconds * 1_000,
  seed,
  say: (message) => console.log(message),
});
console.log(formatReport(report));
process.exitCode = report.violations.length > 0 ? 1 : 0;
