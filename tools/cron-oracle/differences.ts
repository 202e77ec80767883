import { zoneOffsetSec } from "@mainspring/server/testing";
import { type Case, offsetIn } from "./cases.ts";
import type { Fires } from "./implementations.ts";

/** A reason for which an implementation has other fires than Mainspring. The report counts each reason. */
export type Reason =
  | "equal"
  | "both refuse it"
  | "a range of one value with a step (7-7/3): cronsim steps on to the end of the field"
  | "it begins in the second pass of an hour: cronsim begins in the first"
  | "around a clock change by half an hour: cronsim steps by whole hours"
  | "midnight does not exist: cronsim fires at one o'clock all the same"
  | "a star with a step in a day field (*/2): cron-parser takes it for a restriction, cron does not"
  | "the platform has older time zone data than the package"
  | "around a clock change: cron-parser has rules of its own"
  | "UNEXPLAINED";

const DAY_MS = 86_400_000;

/** Reason why cronsim has these fires. */
export function cronsimReason(one: Case, own: Fires, other: Fires): Reason {
  const same = sameOrRefused(own, other);
  if (same !== null) return same;
  if (hasLoneRange(one.cron)) return LONE_RANGE;
  const [instants, theirs] = [instantsOf(own), instantsOf(other)];
  if (theirs.some((at) => at <= Date.parse(one.after))) return SECOND_PASS;
  if ([...instants, ...theirs].some((at) => changeNear(one, at) % 60 !== 0)) return HALF_HOUR;
  const first = theirs.find((at) => !instants.includes(at));
  return first !== undefined && isAfterMidnightGap(one, first) ? NO_MIDNIGHT : "UNEXPLAINED";
}

/**
 * Reason why cron-parser has these fires. @param hasNewestData whether cron-parser used the newest data, and not the
 * platform's
 */
export function cronParserReason(one: Case, own: Fires, other: Fires, hasNewestData: boolean): Reason {
  const same = sameOrRefused(own, other);
  if (same !== null) return same;
  const [date = "", , weekday = ""] = one.cron.split(" ").slice(-3);
  if ([date, weekday].some((field) => field.startsWith("*/")) && date !== "*" && weekday !== "*") return STAR_STEP;
  const fires = [...instantsOf(own), ...instantsOf(other)];
  if (!hasNewestData && fires.some((at) => hasOtherOffset(one, at)))
    return "the platform has older time zone data than the package";
  return fires.some((at) => changeNear(one, at) !== 0)
    ? "around a clock change: cron-parser has rules of its own"
    : "UNEXPLAINED";
}

const LONE_RANGE: Reason = "a range of one value with a step (7-7/3): cronsim steps on to the end of the field";
const SECOND_PASS: Reason = "it begins in the second pass of an hour: cronsim begins in the first";
const HALF_HOUR: Reason = "around a clock change by half an hour: cronsim steps by whole hours";
const NO_MIDNIGHT: Reason = "midnight does not exist: cronsim fires at one o'clock all the same";
const STAR_STEP: Reason =
  "a star with a step in a day field (*/2): cron-parser takes it for a restriction, cron does not";

function sameOrRefused(own: Fires, other: Fires): Reason | null {
  if (typeof own === "string" && typeof other === "string") return "both refuse it";
  return String(own) === String(other) ? "equal" : null;
}

function hasLoneRange(cron: string): boolean {
  return /(?:^|[ ,])(\d+)-\1\//.test(cron);
}

function hasOtherOffset({ timezone }: Case, at: number): boolean {
  return offsetIn(timezone)(at) * 60 !== zoneOffsetSec(timezone, at);
}

function instantsOf(fires: Fires): number[] {
  return typeof fires === "string" ? [] : fires.map((at) => Date.parse(at));
}

/** Number of minutes by which the clocks change within a day of an instant. */
function changeNear({ timezone }: Case, at: number): number {
  const offset = offsetIn(timezone);
  return offset(at + DAY_MS) - offset(at - DAY_MS);
}

function isAfterMidnightGap({ timezone }: Case, at: number): boolean {
  const offset = offsetIn(timezone);
  const before = offset(at - 1_000);
  return offset(at) > before && (at + before * 60_000) % DAY_MS === 0;
}
