import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readCron } from "./cron-text.ts";

function refusalOf(text: string): { part: string | null; position: number | null; message: string } {
  const read = readCron(text);
  assert.ok("message" in read, `${text} is taken`);
  return read;
}

function isTaken(text: string): boolean {
  return !("message" in readCron(text));
}

describe("reading a cron expression", () => {
  it("points at the entry that is wrong, in the field that it is in", () => {
    for (const [text, part, position] of [
      ["1,2,99,5 * * * *", "minute", 5],
      ["0 9 * * MON,TEU", "day of week", 13],
      ["  0   25 * * *", "hour", 7],
      ["0 0 1,WL * *", "day of month", 7],
      ["0 0 0 ? 13 *", "month", 9],
      ["0 0 * * MON#6", "day of week", 9],
      ["0 0 L-3 * *", "day of month", 5],
      ["? * * * *", "minute", 1],
      ["0 0 30 2 *", "day of month", 5],
      ["0 0 31 2,4,6,9,11 ?", "day of month", 5],
      ["0 0 12 30W 2 *", "day of month", 8],
      ["* * * * * * * *", null, 13],
      ["@fortnightly", null, 1],
      ["@daily UTC", null, 8],
      ["0 9 * * +MON", null, 9],
      ["0 9\n* * *", null, 4],
    ] as const) {
      const refusal = refusalOf(text);
      assert.deepEqual([refusal.part, refusal.position], [part, position], `${text}: ${refusal.message}`);
    }
  });

  it("says what to write instead of what other schedulers take", () => {
    assert.match(refusalOf("5/15 * * * *").message, /minute, character 1: "5\/15" .*write 5-59\/15/);
    assert.match(refusalOf("0 22-2 * * *").message, /hour, character 3: "22-2" .*write 22-23,0-2/);
    assert.match(refusalOf("0 9 * * 8").message, /0 to 7 .*SUN to SAT/);
    assert.match(refusalOf("@reboot").message, /@daily/);
    assert.match(refusalOf("0 9 * *").message, /is 4: give five fields \(minute, hour, .*or six/);
  });

  it("takes names in any case, L, W, #, a question mark for a day, seconds, and the names with @", () => {
    for (const text of [
      "0 9 * jan-Mar MON",
      "0 0 L,15W * ?",
      "0 0 ? * friL",
      "0 0 * * 1#2,3#4",
      "*/10 0 9 LW * *",
      "@Daily",
    ]) {
      assert.ok(isTaken(text), text);
    }
  });

  it("takes rare days, but none that never come", () => {
    for (const text of ["0 0 29 2 *", "0 0 */28 2 MON#5", "0 0 30 2 MON", "0 0 29 2 ?"]) assert.ok(isTaken(text), text);
    for (const text of ["0 0 30 2 *", "0 0 30,31 2 ?", "0 0 31W 2 ?"])
      assert.match(refusalOf(text).message, /never fires/);
  });

  it("knows times of day from elapsed time, whatever the seconds are", () => {
    const fixed = (text: string) => {
      const plan = readCron(text);
      return !("message" in plan) && plan.fixedTime;
    };
    for (const text of ["30 2 * * *", "0,30 1-3 * * *", "*/20 30 1 * * *", "@daily", "0 0 */2 * *"])
      assert.ok(fixed(text), text);
    for (const text of ["* 2 * * *", "0 */2 * * *", "0-30/10 2 * * *", "@hourly", "0 1-3/1 * * *"])
      assert.ok(!fixed(text), text);
  });

  it("refuses long texts without reading them", () => {
    assert.equal(refusalOf(`${"1,".repeat(200)}1 * * * *`).position, 257);
    const longest = `${"1,".repeat(123)}1 * * * *`;
    assert.ok(longest.length <= 256 && isTaken(longest));
    assert.ok(refusalOf(`${"x".repeat(248)} * * * *`).message.length < 300);
  });
});
