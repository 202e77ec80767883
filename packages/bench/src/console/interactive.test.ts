import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { interactiveMs } from "./interactive.ts";

const stretch = (fromMs: number, untilMs: number) => ({ fromMs, untilMs });
const page = { firstContentfulPaintMs: 800, tasks: [], requests: [], seenUntilMs: 20_000 };

describe("the time to interactive", () => {
  it("is the first paint of a page without long tasks", () => {
    assert.equal(interactiveMs(page), 800);
  });

  it("is the end of the last long task before five quiet seconds", () => {
    const tasks = [stretch(100, 300), stretch(900, 1_000), stretch(5_500, 5_700), stretch(10_800, 10_900)];
    assert.equal(interactiveMs({ ...page, tasks }), 5_700);
    assert.equal(interactiveMs({ ...page, tasks: tasks.slice(0, 2) }), 1_000);
  });

  it("waits for the requests of a page that loads, but not for a few that come again", () => {
    const three = [stretch(500, 7_000), stretch(500, 6_000), stretch(500, 7_500)];
    const tasks = [stretch(3_000, 3_100)];
    assert.equal(interactiveMs({ ...page, requests: three, tasks }), 3_100);
    const late = [...tasks, stretch(9_000, 9_100)];
    assert.equal(interactiveMs({ ...page, requests: three, tasks: late }), 9_100);
    assert.equal(interactiveMs({ ...page, requests: three.slice(1), tasks: late }), 3_100);
  });

  it("is not known if the page was never quiet", () => {
    const open = stretch(0, Number.POSITIVE_INFINITY);
    assert.equal(interactiveMs({ ...page, requests: [open, open, open] }), null);
    assert.equal(interactiveMs({ ...page, seenUntilMs: 5_799 }), null);
  });
});
