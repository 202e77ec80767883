import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readCron } from "./cron-text.ts";

const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const EVERY_WEEK = 0b111111;
const LAST_WEEK = 0b100000;

function planOf(text: string) {
  const plan = readCron(text);
  assert.ok(!("message" in plan), `${text}: ${"message" in plan ? plan.message : ""}`);
  return plan;
}

/** Days of the week as "SUN MON#2 FRIL". */
function daysOf(field: string): string {
  const { weekdays } = planOf(`0 0 * * ${field}`).days;
  return weekdays.flatMap((weeks, day) => told(DAYS[day] as string, weeks)).join(" ");
}

function told(day: string, weeks: number): string[] {
  if (weeks === 0) return [];
  if (weeks === EVERY_WEEK) return [day];
  if (weeks === LAST_WEEK) return [`${day}L`];
  return [1, 2, 3, 4, 5].filter((week) => weeks & (1 << (week - 1))).map((week) => `${day}#${week}`);
}

function refusalOf(text: string): string {
  const read = readCron(text);
  assert.ok("message" in read, `${text} is taken`);
  return read.message;
}

const ALL = DAYS.join(" ");

describe("days of the week", () => {
  for (const [fields, days] of [
    [["SUN", "sun", "0", "7", "7-7", "0-0", "SUN-SUN", "0-SUN", "SUN-0", "7-SUN", "sun-Sun", "SUN,7", "0,7"], "SUN"],
    [["SUN-SUN/2", "0-SUN/1", "7-7/2", "SUN-0/2"], "SUN"],
    [["SAT-SUN", "6-7", "6-SUN", "SAT-7", "sat-sun", "SUN,SAT", "sat,SUN", "SAT-SUN/1"], "SUN SAT"],
    [["FRI-SUN", "5-7", "5-SUN", "FRI-7", "fri-sun", "FRI,SAT-SUN"], "SUN FRI SAT"],
    [["FRI-SUN,MON", "MON,FRI-SUN", "SAT-SUN,MON,5"], "SUN MON FRI SAT"],
    [["MON,SUN-SUN", "SUN-SUN,MON", "SUN-MON", "0-1", "1,0-SUN"], "SUN MON"],
    [["MON-SUN", "mon-sun", "1-7", "MON-7", "1-SUN", "0-6", "SUN-SAT", "0-7", "SUN-7", "*", "?", "*/1"], ALL],
    [["MON-SUN/2", "1-7/2", "1-SUN/2", "MON-7/2"], "SUN MON WED FRI"],
    [["0-7/2", "*/2", "SUN-SAT/2", "0-6/2"], "SUN TUE THU SAT"],
    [["SAT-SUN/2", "6-7/2"], "SAT"],
    [["MON-WED,SAT-SUN", "1-3,6-7"], "SUN MON TUE WED SAT"],
    [["SUN#1", "7#1", "0#1", "SUN-SUN#1", "0-SUN#1", "7-7#1"], "SUN#1"],
    [["MON#2", "mon#2", "1#2"], "MON#2"],
    [["SAT-SUN#1", "6-7#1"], "SUN#1 SAT#1"],
    [["SUNL", "0L", "7L", "sunl", "SUN-SUNL", "0-SUNL"], "SUNL"],
    [["FRIL", "5L", "friL"], "FRIL"],
    [["SAT-SUN,MON#1"], "SUN MON#1 SAT"],
    [["2#2,4"], "TUE#2 THU"],
  ] as const) {
    it(`are ${days} for ${fields.join(", ")}`, () => {
      for (const field of fields) assert.equal(daysOf(field), days, field);
    });
  }
});

describe("days of the month", () => {
  const days = (field: string) => {
    const { dates, nearestWeekdays, lastDate, lastWeekday } = planOf(`0 0 ${field} * *`).days;
    const of = (bits: number, mark: string) =>
      Array.from({ length: 31 }, (_, day) => (bits & (1 << day) ? `${day + 1}${mark}` : "")).filter(Boolean);
    return [...of(dates, ""), ...of(nearestWeekdays, "W"), lastDate && "L", lastWeekday && "LW"]
      .filter(Boolean)
      .join(" ");
  };
  for (const [fields, expected] of [
    [["LW", "lw", "LW,LW"], "LW"],
    [["LW,1", "1,LW", "1,lw", "LW,1,LW"], "1 LW"],
    [["LW,1,15", "1,LW,15", "1,15,LW"], "1 15 LW"],
    [["L", "l", "L,L"], "L"],
    [["L,15", "15,L"], "15 L"],
    [["L,LW", "LW,L"], "L LW"],
    [["15W", "15w", "15W,15W"], "15W"],
    [["1W,15W"], "1W 15W"],
    [["LW,15W", "15W,LW"], "15W LW"],
    [["1-3,LW", "LW,1-3/1"], "1 2 3 LW"],
  ] as const) {
    it(`are ${expected} for ${fields.join(", ")}`, () => {
      for (const field of fields) assert.equal(days(field), expected, field);
    });
  }

  it("are no list with an empty entry, also beside LW, and no field is taken for another one", () => {
    for (const field of ["LW,", ",LW", "LW,,1", "1,,LW", "1,"])
      for (const text of [`0 0 ${field} * *`, `0 30 9 ${field} * MON`])
        assert.match(refusalOf(text), /^day of month, character \d+: "" is no entry/, text);
  });
});

describe("a refusal says what to write instead", () => {
  for (const [text, advice] of [
    ["0 9 * * FRI-MON", /"FRI-MON" runs backwards: write FRI-SUN,MON$/],
    ["0 9 * * fri-mon", /write FRI-SUN,MON$/],
    ["0 9 * * SAT-TUE", /write SAT-SUN,MON-TUE$/],
    ["0 9 * * 5-1", /write 5-7,1$/],
    ["0 9 * * FRI-1", /write FRI-SUN,1$/],
    ["0 9 * * 5-MON", /write 5-7,MON$/],
    ["0 9 * * FRI-0", /write FRI-SUN$/],
    ["0 9 * * 6-0", /write 6-7$/],
    ["0 9 * * 7-0", /write 0$/],
    ["0 9 * * 7-2", /write 0-2$/],
    ["0 9 * * 1,SAT-MON", /character 11: "SAT-MON" .*write SAT-SUN,MON$/],
    ["0 9 * NOV-FEB *", /write NOV-DEC,JAN-FEB$/],
    ["0 9 * 11-2 *", /write 11-12,1-2$/],
    ["0 9 * dec-jan *", /write DEC,JAN$/],
    ["0 9 30-2 * *", /write 30-31,1-2$/],
    ["0 22-2 * * *", /write 22-23,0-2$/],
    ["5/15 * * * *", /"5\/15" lacks the end of its range: write 5-59\/15$/],
    ["0 9 * * SUN/2", /write SUN-SAT\/2$/],
    ["0 9 * * mon/2", /write MON-SUN\/2$/],
    ["0 9 * JAN/3 *", /write JAN-DEC\/3$/],
    ["0 9 * * L", /"L" names no weekday: write FRIL/],
    ["0 9 * * ?,1", /character 9: "\?" stands for any day, and alone/],
    ["0 9 1,? * *", /day of month, character 7: "\?" stands for any day/],
    ["@every 5m", /leave out schedule, and give everySec/],
    ["@EVERY 1h30m", /leave out schedule, and give everySec/],
  ] as const) {
    it(`of ${text}`, () => {
      assert.match(refusalOf(text), advice);
      const [, instead] = /: write (\S+)$/.exec(refusalOf(text)) ?? [];
      const entry = /"(.+?)"/.exec(refusalOf(text))?.[1];
      if (instead !== undefined && entry !== undefined) planOf(text.replace(entry, instead));
    });
  }

  it("of what no remedy is known for: everything that the field takes", () => {
    for (const field of ["MON#6", "SUN-SUN/0", "SUN-SUN/99", "MONDAY", "MON--FRI", "8", "1-8", "LMON"])
      assert.match(refusalOf(`0 9 * * ${field}`), /must be 0 to 7 \(0 and 7: Sunday\) or SUN to SAT/, field);
    for (const field of ["L-3", "LW-1", "32W", "0", "1-L"])
      assert.match(refusalOf(`0 9 ${field} * *`), /must be 1 to 31, \*, L \(the last\), LW/, field);
  });
});
