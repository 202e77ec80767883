import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { boundsOf, calendarOf, type Instant, isMonth, monthBeside } from "./calendar.ts";
import { ticksBetween } from "./read-ledger.ts";

const planned = (local: string, more: Partial<Instant> = {}): Instant => ({
  local,
  outcome: "PLANNED",
  count: 1,
  ...more,
});
const change = (from: string, to: string) => `${from} to ${to}`;

describe("the calendar of a job", () => {
  it("has whole weeks from Monday on, and knows the days of other months", () => {
    const weeks = calendarOf("2026-03", [], change);
    assert.deepEqual([weeks[0]?.[0]?.date, weeks.at(-1)?.[6]?.date], ["2026-02-23", "2026-04-05"]);
    assert.deepEqual(weeks.flat().filter(({ isInMonth }) => isInMonth).length, 31);
    assert.equal(calendarOf("2027-02", [], change).length, 4);
  });

  it("counts instants by day and outcome on the clocks of the job", () => {
    const days = calendarOf(
      "2026-03",
      [
        planned("2026-03-01T23:30:00+01:00", { outcome: "SKIPPED", count: 4 }),
        planned("2026-03-01T23:45:00+01:00", { outcome: "SKIPPED" }),
        planned("2026-03-02T00:15:00+01:00", { outcome: "RAN" }),
      ],
      change,
    ).flat();
    const of = (date: string) => [...(days.find((day) => day.date === date)?.counts ?? [])];
    assert.deepEqual([of("2026-03-01"), of("2026-03-02")], [[["SKIPPED", 5]], [["RAN", 1]]]);
  });

  it("marks the day on which the clocks change, and what the change does", () => {
    const days = calendarOf(
      "2026-03",
      [
        planned("2026-03-28T02:30:00+01:00"),
        planned("2026-03-29T03:00:00+02:00", { note: "moved from 02:30" }),
        planned("2026-03-30T02:30:00+02:00"),
      ],
      change,
    ).flat();
    const marked = days.filter(({ marks }) => marks.length > 0);
    assert.deepEqual(
      marked.map(({ date, marks }) => [date, ...marks]),
      [["2026-03-29", "+01:00 to +02:00", "moved from 02:30"]],
    );
  });

  it("goes from month to month over the ends of years", () => {
    assert.deepEqual([monthBeside("2026-12", 1), monthBeside("2026-01", -1)], ["2027-01", "2025-12"]);
    assert.deepEqual(["2026-13", "2026-1", "x", "2026-09"].map(isMonth), [false, false, false, true]);
    const { since, until } = boundsOf("2026-02");
    assert.equal((until - since) / 86_400_000, 30);
  });
});

describe("the preview of a backfill", () => {
  it("counts the instants of an interval in a time, without its end", () => {
    assert.equal(ticksBetween(1_000, 100, 1_000, 1_300), 3);
    assert.equal(ticksBetween(1_000, 100, 1_001, 1_301), 3);
    assert.equal(ticksBetween(1_000, 100, 0, 1_000), 0);
    assert.equal(ticksBetween(1_000, 100, 500, 1_001), 1);
  });
});
