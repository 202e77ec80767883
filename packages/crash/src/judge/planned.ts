import { oracleFires, walk } from "@mainspring/server/testing";
import type { Evidence, RecurringJob, RecurringTimes } from "./evidence.ts";

/** Instants that a recurring job may and must have planned, by an oracle that shares nothing with the product. */
export interface PlannedInstants {
  /** Instants planned by every version that may have been in force. */
  required: ReadonlySet<number>;
  /** Instants planned by any of these versions. */
  allowed: ReadonlySet<number>;
}

const DAY_MS = 86_400_000;
/** Longest time that a busy machine with a full pool takes for a start without faults, in milliseconds. */
const WITHIN_MS = 30_000;
/** Time until a worker that dies or stops is declared lost, in milliseconds; it holds its work until then. */
const LOST_AFTER_MS = 40_000;
/** Longest duration of a fault whose event is written at its end, in milliseconds. */
const LINK_TROUBLE_MS = 10_000;

export function plannedInstants(job: RecurringJob, evidence: Evidence): PlannedInstants {
  const { toleranceMs } = evidence;
  const { versions, endedAt } = job;
  const from = (versions[0]?.askedAt ?? endedAt) - toleranceMs;
  const spans = versions.map(({ times, askedAt, answeredAt }, index) => {
    const next = versions[index + 1];
    return {
      instants: new Set(instantsOf(times, from, endedAt)),
      // The version may apply from here to there, and is the only one in between.
      from: askedAt - toleranceMs,
      aloneFrom: index === 0 ? answeredAt + toleranceMs : from,
      until: next === undefined ? Number.POSITIVE_INFINITY : inTime(next.answeredAt, evidence),
    };
  });
  const allowed = new Set<number>();
  const required = new Set<number>();
  for (const at of new Set(spans.flatMap(({ instants }) => [...instants]))) {
    const counting = spans.filter((span) => span.from <= at && at < span.until);
    if (counting.some(({ instants }) => instants.has(at))) allowed.add(at);
    const isMust =
      at < endedAt - toleranceMs && counting.every(({ instants, aloneFrom }) => instants.has(at) && aloneFrom < at);
    if (counting.length > 0 && isMust) required.add(at);
  }
  return { required, allowed };
}

/** Latest time, since 1970, at which something due at `at` must have started: outages in between are added. */
export function inTime(at: number, { faults, wallClockZeroMs }: Evidence): number {
  let deadline = at + WITHIN_MS;
  for (const outage of outages(faults)) {
    const [from, to] = [outage.from - wallClockZeroMs, outage.to - wallClockZeroMs];
    if (from >= deadline) break;
    if (to > at) deadline = Math.max(deadline, to + WITHIN_MS);
  }
  return deadline;
}

interface Outage {
  from: number;
  to: number;
}

/** Outages of a run. An hour of chaos has thousands, and the judge asks for them at each of its instants. */
const known = new WeakMap<Evidence["faults"], Outage[]>();

/** Outages in the order in which they started, by the monotonic clock. */
function outages(faults: Evidence["faults"]): Outage[] {
  const found = known.get(faults) ?? findOutages(faults);
  known.set(faults, found);
  return found;
}

function findOutages(faults: Evidence["faults"]): Outage[] {
  const found = faults.flatMap(({ event, at, pid }) => {
    if (/_(READY|CONTINUED)$|^(OUTAGE_TOLD|BUS_CARRIED)$/.test(event)) return [];
    // No job waits for these systems.
    if (/^(CLICKHOUSE|OTLP|REDIS)_/.test(event)) return [];
    if (event.includes("_LINK_")) return [{ from: at - LINK_TROUBLE_MS, to: at + LOST_AFTER_MS }];
    if (/^(WORKER|CLIENT)/.test(event)) return [{ from: at, to: at + LOST_AFTER_MS }];
    const side = event.slice(0, event.indexOf("_"));
    const isEnd = (end: (typeof faults)[number]) =>
      end.at > at && (end.event === `${side}_READY` || (end.event === `${side}_CONTINUED` && end.pid === pid));
    const end = faults.filter(isEnd).sort((a, b) => a.at - b.at)[0];
    return [{ from: at, to: Math.max(end?.at ?? at, at) }];
  });
  return found.sort((a, b) => a.from - b.from);
}

/** All instants in [from, until). */
function instantsOf(times: RecurringTimes, from: number, until: number): number[] {
  const all = "cron" in times ? cronInstants(times, from, until) : intervalInstants(times, from, until);
  return all.filter((at) => at >= from && at < until);
}

const walked = new Map<string, number[]>();

function cronInstants({ cron, timezone }: Extract<RecurringTimes, { cron: string }>, from: number, until: number) {
  // The oracle is imprecise within a day of a walk's ends.
  const first = (Math.floor(from / DAY_MS) - 1) * DAY_MS;
  const last = (Math.ceil(until / DAY_MS) + 1) * DAY_MS;
  const key = `${cron} ${timezone} ${first} ${last}`;
  const known = walked.get(key) ?? oracleFires(cron, { gap: "SHIFT", fold: "FIRST" }, walk(timezone, first, last));
  walked.set(key, known);
  return known;
}

function intervalInstants(times: Extract<RecurringTimes, { everySec: number }>, from: number, until: number) {
  const everyMs = times.everySec * 1_000;
  const instants: number[] = [];
  for (let at = from - ((from - times.anchorAt) % everyMs); at < until; at += everyMs) instants.push(at);
  return instants;
}
