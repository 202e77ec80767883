import { type Changeover, oracleFires, type RecurrenceRule, walk } from "@mainspring/server/testing";
import { FROM_MS, UNTIL_MS } from "./oracle.ts";

/** The time zone data of a simulated world in which it changes. */
export interface ChangingRules {
  /** Changeovers in order, as the store has them. */
  changeovers(): readonly Changeover[];
  /** Name of the zone whose rules a version uses under this name. */
  zoneIn(version: string, timezone: string): string;
}

/** Planned instants of a range. */
export interface Expected {
  /** Instants that must have an outcome. */
  must: number[];
  /** Further instants that may have an outcome. */
  may: Set<number>;
}

interface Clocks {
  fires: readonly number[];
  /** Local time in minutes at each minute. */
  wallAt(at: number): number;
}

type CronTimes = Extract<RecurrenceRule["times"], { type: "CRON" }>;

const MINUTE_MS = 60_000;
const walks = new Map<string, { minutes: ReturnType<typeof walk>; walls: Map<number, number> }>();
const firesOf = new Map<string, readonly number[]>();

/**
 * Instants of a rule from `from` to before `until`, while the time zone data changes: each version plans the instants
 * before the next changeover. A version plans an instant that lies after the last instant of the previous version, at a
 * local time that was not planned yet, even if the instant lies before the changeover. A version without an instant at
 * or after the changeover that replaces it has ended the job, so later versions need not plan anything. The function
 * shares no code with the product.
 * @param isEdited the local times that an earlier definition planned are unknown: from the next changeover on no instant is required
 */
export function expectedInstants(
  rule: RecurrenceRule,
  shiftMs: number,
  rules: ChangingRules,
  from: number,
  until: number,
  isEdited: boolean,
): Expected {
  const { times } = rule;
  if (times.type !== "CRON") throw new Error("rules of clocks say nothing of an interval");
  const expected: Expected = { must: [], may: new Set() };
  const afterTheEnd: Expected = { must: [], may: expected.may };
  const account = new WallAccount(times);
  const changeovers = rules.changeovers();
  let isOver = false;
  for (const [index, { version, since }] of changeovers.entries()) {
    const end = Math.min(until, changeovers[index + 1]?.since ?? until);
    // A version that comes into force after the range plans none of it, even if it has an instant of that time at a new
    // local time.
    const isAfter = index > 0 && since >= until;
    if (end <= from || isAfter) continue;
    const clocks = clocksOf(times, rules.zoneIn(version, times.timezone));
    const [startAt, endAt] = [rule.startAt ?? Number.NEGATIVE_INFINITY, rule.endAt ?? Number.POSITIVE_INFINITY];
    const planned = clocks.fires.filter((at) => at >= startAt && at < endAt).map((at) => at + shiftMs);
    const wallOf = (at: number) => clocks.wallAt(at - shiftMs);
    if (account.isEmpty)
      account.open(
        planned.filter((at) => at < from),
        wallOf,
      );
    const goesOn = account.plan(planned, { since, end }, wallOf, isOver ? afterTheEnd : expected);
    isOver ||= !goesOn;
  }
  for (const at of afterTheEnd.must) expected.may.add(at);
  if (isEdited) {
    const next = changeovers.find(({ since }) => since > from)?.since ?? until;
    expected.must = expected.must.filter((at) => at < next);
    const versions = changeovers.flatMap(({ version }) => clocksOf(times, rules.zoneIn(version, times.timezone)).fires);
    for (const at of versions) expected.may.add(at + shiftMs);
  }
  // An instant that a later version has before the range stands for a local time that lies after the start of the range
  // by the version of that time.
  for (const at of expected.must) if (at < from) expected.may.add(at);
  expected.must = expected.must.filter((at) => at >= from).sort((a, b) => a - b);
  return expected;
}

/** Local times that have been planned, over all versions. */
class WallAccount {
  readonly #planned = new Set<number>();
  readonly #byWall: boolean;
  readonly #isBoth: boolean;
  /** Latest instant that earlier versions have planned. */
  #lastAt = Number.NEGATIVE_INFINITY;
  #lastWall = Number.NEGATIVE_INFINITY;
  #isFirst = true;
  isEmpty = true;

  constructor({ cron, dst }: CronTimes) {
    const [minute = "", hour = ""] = cron.split(" ").slice(-5);
    this.#byWall = !/[*/]/.test(minute + hour);
    this.#isBoth = dst.fold === "BOTH";
  }

  /** Records the instants that the first version planned. */
  open(fires: readonly number[], wallOf: (at: number) => number): void {
    this.isEmpty = false;
    this.#note(fires, wallOf);
  }

  /**
   * @param fires instants of the next version, ascending
   * @param range moments at which the version and its successor come into force
   * @returns whether the version must plan an instant after its range, too
   */
  plan(
    fires: readonly number[],
    { since, end }: { since: number; end: number },
    wallOf: (at: number) => number,
    expected: Expected,
  ): boolean {
    this.#note(
      fires.filter((at) => at < end && at > this.#lastAt && this.#takes(at, wallOf(at), since, expected)),
      wallOf,
    );
    const goesOn = fires.some((at) => at >= end && at > this.#lastAt && this.#mustPlan(wallOf(at)));
    this.#isFirst = false;
    return goesOn;
  }

  #mustPlan(wall: number): boolean {
    const isFree = this.#isFirst || !this.#byWall;
    return isFree || (!this.#planned.has(wall) && wall > this.#lastWall);
  }

  /** @returns whether the instant is planned now at the latest */
  #takes(at: number, wall: number, since: number, expected: Expected): boolean {
    if (this.#mustPlan(wall)) expected.must.push(at);
    else if (!this.#planned.has(wall) || this.#isBoth) expected.may.add(at);
    else return false;
    return expected.must.at(-1) === at || at >= since;
  }

  #note(fires: readonly number[], wallOf: (at: number) => number): void {
    for (const at of fires) {
      this.#planned.add(wallOf(at));
      this.#lastAt = Math.max(this.#lastAt, at);
      this.#lastWall = Math.max(this.#lastWall, wallOf(at));
    }
  }
}

function clocksOf({ cron, dst }: CronTimes, timezone: string): Clocks {
  const { minutes, walls } = kept(walks, timezone, () => {
    const walked = walk(timezone, FROM_MS, UNTIL_MS);
    return { minutes: walked, walls: new Map(walked.map(({ at, wall }) => [at, wall])) };
  });
  const fires = kept(firesOf, `${cron} ${dst.gap} ${dst.fold} ${timezone}`, () => oracleFires(cron, dst, minutes));
  return { fires, wallAt: (at) => walls.get(at - (at % MINUTE_MS)) ?? Number.NaN };
}

function kept<T>(known: Map<string, T>, key: string, make: () => T): T {
  let value = known.get(key);
  if (value === undefined) known.set(key, (value = make()));
  return value;
}
