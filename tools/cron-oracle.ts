import { parseArgs } from "node:util";
import { usePackagedZones } from "@mainspring/server/testing";
import { type Case, randomCases } from "./cron-oracle/cases.ts";
import { cronParserReason, cronsimReason, type Reason } from "./cron-oracle/differences.ts";
import { cronParser, cronsim, type Fires, mainspring } from "./cron-oracle/implementations.ts";
import { newestZones } from "./cron-oracle/newest-zones.ts";

/**
 * `npm run cron:oracle` compares the next three fires of 6,000 random schedules with two implementations that share nothing with
 * Mainspring: Python's cronsim and JavaScript's cron-parser, both on the newest data as Python's zoneinfo reads it from the package tzdata. It
 * counts every difference by its reason, and fails where one has none. `--cases N --seed N`. It needs `python3` and `pip`.
 */

const { values } = parseArgs({
  options: { cases: { type: "string", default: "6000" }, seed: { type: "string", default: "1" } },
});
const version = usePackagedZones();
const cases = randomCases(Number(values.seed), Number(values.cases));
const own = cases.map(mainspring);
console.log(`${cases.length} schedules of seed ${values.seed}, by ${version}`);
const zones = newestZones(cases.map(({ timezone }) => timezone));
const byCronParser = cases.map((one) => cronParser(one, zones.get(one.timezone)));
const isExplained = [
  compared("cronsim", cronsim(cases), cronsimReason),
  compared("cron-parser", byCronParser, (...one) => cronParserReason(...one, true)),
].every(Boolean);
process.exitCode = isExplained ? 0 : 1;

/** @returns whether every difference has a reason */
function compared(name: string, fires: readonly Fires[], reasonOf: typeof cronsimReason): boolean {
  const counts = new Map<Reason, number>();
  for (const [index, one] of cases.entries()) {
    const [mine, theirs] = [own[index] as Fires, fires[index] as Fires];
    const reason = reasonOf(one, mine, theirs);
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    if (reason === "UNEXPLAINED") tell(name, one, mine, theirs);
  }
  for (const [reason, count] of [...counts].sort((a, b) => b[1] - a[1])) console.log(`${name}: ${count} ${reason}`);
  return !counts.has("UNEXPLAINED");
}

function tell(name: string, { cron, timezone, after }: Case, mine: Fires, theirs: Fires): void {
  console.log(`"${cron}" in ${timezone} after ${after}: Mainspring has ${mine}, ${name} has ${theirs}`);
}
