import assert from "node:assert/strict";
import { describe, it } from "node:test";
import "./testing/zones.ts";
import { previewFires } from "./preview.ts";
import { DEFAULT_DST, type DstPolicy, type Schedule } from "./schedule.ts";

const NEW_YORK = "America/New_York";

const unbounded = { startAt: null, endAt: null, maxFires: null, shiftMs: 0 };

/** Each fire as its local time and its note. */
function preview(cron: string, timezone: string, after: string, count: number, dst: Partial<DstPolicy> = {}): string[] {
  const times = { type: "CRON", cron, timezone, dst: { ...DEFAULT_DST, ...dst } } as const;
  return lines({ times, ...unbounded }, after, count);
}

function lines(schedule: Schedule, after: string, count: number): string[] {
  const fires = previewFires(schedule, Date.parse(after), 0, count);
  return fires.map(({ local, note }) => (note === null ? local : `${local} ${note}`));
}

const forward = "the clocks go from 2025-03-09T02:00 to 2025-03-09T03:00";

describe("the preview of a schedule", () => {
  it("tells of a fire that a gap moved", () => {
    assert.deepEqual(preview("30 2 * * *", NEW_YORK, "2025-03-08T00:00:00Z", 3), [
      "2025-03-08T02:30:00-05:00",
      `2025-03-09T03:00:00-04:00 moved: 2025-03-09T02:30 does not exist, ${forward}`,
      "2025-03-10T02:30:00-04:00",
    ]);
  });

  it("tells of fires that a gap merged, with one another or with one that is planned there", () => {
    assert.deepEqual(preview("0,20,40 2 * * *", NEW_YORK, "2025-03-09T00:00:00Z", 1), [
      `2025-03-09T03:00:00-04:00 moved, merged: 2025-03-09T02:00 and 2 more do not exist, which is one fire; ${forward}`,
    ]);
    assert.deepEqual(preview("0 2,3 * * *", NEW_YORK, "2025-03-09T00:00:00Z", 1), [
      `2025-03-09T03:00:00-04:00 moved, merged: 2025-03-09T02:00 does not exist and 2025-03-09T03:00 is planned as well, ` +
        `which is one fire; ${forward}`,
    ]);
  });

  it("tells, at the fire that follows, of those that a gap dropped", () => {
    assert.deepEqual(preview("30 2 * * *", NEW_YORK, "2025-03-09T00:00:00Z", 1, { gap: "SKIP" }), [
      `2025-03-10T02:30:00-04:00 dropped: 2025-03-09T02:30 does not exist, ${forward}`,
    ]);
    assert.deepEqual(preview("0 * * * *", NEW_YORK, "2025-03-09T05:30:00Z", 3), [
      "2025-03-09T01:00:00-05:00",
      `2025-03-09T03:00:00-04:00 dropped: 2025-03-09T02:00 does not exist, ${forward}`,
      "2025-03-09T04:00:00-04:00",
    ]);
    const [daily] = preview("* * * * * *", "Pacific/Apia", "2011-12-30T09:59:59Z", 1);
    assert.match(daily ?? "", /dropped: 2011-12-30T00:00 and at least 99 more do not exist/);
  });

  it("tells of times that come twice, fired twice or once", () => {
    const after = "2025-11-02T00:00:00Z";
    const twice = "2025-11-02T01:30 comes twice, this is the";
    assert.deepEqual(preview("30 1 * * *", NEW_YORK, after, 2), [
      `2025-11-02T01:30:00-04:00 dropped: ${twice} first time and the second is left out`,
      "2025-11-03T01:30:00-05:00",
    ]);
    assert.deepEqual(preview("30 1 * * *", NEW_YORK, after, 1, { fold: "LAST" }), [
      `2025-11-02T01:30:00-05:00 dropped: ${twice} second time and the first is left out`,
    ]);
    for (const [cron, fold] of [
      ["30 1 * * *", "BOTH"],
      ["*/30 1 2 11 *", "FIRST"],
    ] as const) {
      const notes = preview(cron, NEW_YORK, after, 4, { fold }).filter((line) => line.includes("01:30:00"));
      assert.equal(notes[0], `2025-11-02T01:30:00-04:00 doubled: ${twice} first time`);
      assert.equal(notes[1], `2025-11-02T01:30:00-05:00 doubled: ${twice} second time`);
    }
  });

  it("shows the fires of one job, within its bounds and with its spread", () => {
    const times = { type: "CRON", cron: "30 2 * * *", timezone: NEW_YORK, dst: DEFAULT_DST } as const;
    const bounds = { startAt: Date.parse("2025-03-09T00:00:00Z"), endAt: null, maxFires: 2, shiftMs: 90_250 };
    assert.deepEqual(lines({ times, ...bounds }, "2025-03-01T00:00:00Z", 5), [
      `2025-03-09T03:01:30.250-04:00 moved: 2025-03-09T02:30 does not exist, ${forward}`,
      "2025-03-10T02:31:30.250-04:00",
    ]);
  });

  it("shows intervals in UTC, and of a fixed delay the one fire that can be foreseen", () => {
    const anchorAt = Date.parse("2025-03-09T06:30:00Z");
    const grid = {
      times: { type: "INTERVAL", everyMs: 3_600_000, mode: "FIXED_RATE", anchorAt },
      ...unbounded,
    } as const;
    const fires = ["2025-03-09T07:30:00+00:00", "2025-03-09T08:30:00+00:00"];
    assert.deepEqual(lines(grid, "2025-03-09T06:40:00Z", 2), fires);
    const delay = { ...grid, times: { ...grid.times, mode: "FIXED_DELAY" } } as const;
    assert.deepEqual(lines(delay, "2025-03-09T06:40:00Z", 2), ["2025-03-09T07:40:00+00:00"]);
  });

  it("ends where no more fires can be written", () => {
    assert.equal(preview("0 0 29 2 *", "UTC", "9990-01-01T00:00:00Z", 10).length, 2);
    assert.deepEqual(preview("30 12 1 1 *", "Africa/Monrovia", "1970-01-01T00:00:00Z", 1), [
      "1970-01-01T12:30:00-00:44:30",
    ]);
  });
});
