import { oracleFires, type RecurrenceRule, walk } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";

const DAY_MS = 86_400_000;
/** Start of the oracle's range. Simulations are a few hours long; the oracle is imprecise within a day of its ends. */
export const FROM_MS = EPOCH_MS - 2 * DAY_MS;
export const UNTIL_MS = EPOCH_MS + 3 * DAY_MS;

const walks = new Map<string, ReturnType<typeof walk>>();

/**
 * All instants that a rule plans in [from, until), computed without the product's code.
 * @param anchorAt start of an interval's count: the creation of its job
 * @param shiftMs spread of the job, in milliseconds
 */
export function plannedInstants(
  rule: RecurrenceRule,
  anchorAt: number,
  shiftMs: number,
  from: number,
  until: number,
): number[] {
  const instants =
    rule.times.type === "CRON" ? cronInstants(rule.times) : intervalInstants(rule.times.everyMs, anchorAt);
  const [startAt, endAt] = [rule.startAt ?? Number.NEGATIVE_INFINITY, rule.endAt ?? Number.POSITIVE_INFINITY];
  return instants
    .filter((at) => at >= startAt && at < endAt)
    .map((at) => at + shiftMs)
    .filter((at) => at >= from && at < until);
}

function cronInstants({ cron, timezone, dst }: Extract<RecurrenceRule["times"], { type: "CRON" }>): number[] {
  let walked = walks.get(timezone);
  if (walked === undefined) walks.set(timezone, (walked = walk(timezone, FROM_MS, UNTIL_MS)));
  return oracleFires(cron, dst, walked);
}

/**
 * Instants of an interval. The anchor itself counts only if the client gave it: a job without one first waits for its
 * interval.
 */
function intervalInstants(everyMs: number, anchorAt: number): number[] {
  const instants: number[] = [];
  for (let at = anchorAt + everyMs; at < UNTIL_MS; at += everyMs) instants.push(at);
  return instants;
}
