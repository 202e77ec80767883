import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bytesText, countText, rateText } from "./figures.ts";
import { groupedBy } from "./grouped.ts";
import { phasesOf } from "./phases.ts";
import { absoluteText, durationText, isZone, relativeText } from "./times.ts";
import { visible } from "./visible.ts";

describe("texts of values", () => {
  it("show characters that hide or reorder text, and leave the others", () => {
    assert.equal(visible("a\u202eb\u0000c\u200bd\ufeff"), "a\\u202eb\\u0000c\\u200bd\\ufeff");
    assert.equal(visible("añ東京 \t\n😀"), "añ東京 \t\n😀");
  });

  it("show durations by their two largest units", () => {
    const texts = [0, 999, 1_500, 65_000, 3_600_000, 3_900_000, 90_000_000].map(durationText);
    assert.deepEqual(texts, ["0 ms", "999 ms", "1.5 s", "1 min 5 s", "1 h", "1 h 5 min", "1 d 1 h"]);
  });

  it("show instants as a distance, and on the clocks of a zone", () => {
    const at = Date.UTC(2026, 2, 9, 14, 5, 9, 123);
    assert.equal(relativeText(at, at + 400), "now");
    assert.equal(relativeText(at, at + 125_000), "2 min ago");
    assert.equal(relativeText(at + 7_200_000, at), "in 2 h");
    assert.equal(absoluteText(at, "UTC"), "2026-03-09 14:05:09.123 UTC");
    assert.match(absoluteText(at, "Asia/Tokyo"), /^2026-03-09 23:05:09\.123 /);
    for (const instant of [0, at, Date.UTC(9_999, 11, 31, 23, 59, 59, 999), Date.UTC(10_000, 0)])
      assert.equal(absoluteText(instant, "UTC"), absoluteText(instant, "Etc/UTC"));
    assert.deepEqual([isZone("Europe/Berlin"), isZone("Mars/Base")], [true, false]);
  });

  it("say where a count is not exact", () => {
    assert.deepEqual([countText(9_999, 10_000), countText(10_000, 10_000), countText(0)], ["9,999", "10,000+", "0"]);
    assert.deepEqual([rateText(0.25), rateText(1_234.5), bytesText(2_048)], ["0.3/s", "1,235/s", "2 KiB"]);
  });

  it("group members, the largest group first", () => {
    const groups = groupedBy(["a", "bb", "b", "cc", "dd"], (text) => `${text.length}`);
    assert.deepEqual(
      groups.map(({ name, members }) => [name, members.length]),
      [
        ["2", 3],
        ["1", 2],
      ],
    );
  });

  it("divide an execution into phases from its due time on", () => {
    const at = (second: number) => new Date(second * 1_000).toISOString();
    const attempts = [
      { state: "FAILED", startedAt: at(2), finishedAt: at(3) },
      { state: "SUCCEEDED", startedAt: at(7), finishedAt: at(9) },
    ] as const;
    const ended = { scheduledAt: at(0), attempts, finishedAt: at(9), state: "SUCCEEDED" } as const;
    const phases = phasesOf(ended, null, 20_000).map(({ kind, ms }) => `${kind} ${ms / 1_000}`);
    assert.deepEqual(phases, ["queued 2", "failed 1", "backoff 4", "running 2"]);
    const running = { ...ended, attempts: attempts.slice(0, 1), finishedAt: null, state: "RUNNING" } as const;
    const open = phasesOf(running, at(5), 20_000).map(({ kind, ms }) => `${kind} ${ms / 1_000}`);
    assert.deepEqual(open, ["queued 2", "failed 1", "backoff 2", "running 15"]);
  });
});
