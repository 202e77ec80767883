import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Turns } from "./turns.ts";

/** Turns whose clock moves by 1 ms with each item. Each turn ends when the test calls `endTurn`. */
function scene() {
  const ends: (() => void)[] = [];
  let nowMs = 0;
  const turns = new Turns({
    monotonicMs: () => nowMs,
    setTimer: () => assert.fail("turns end by defer"),
    defer: (run) => void ends.push(run),
  });
  const made: string[] = [];
  const work = (name: string, items: number) =>
    turns.map(Array.from({ length: items }), () => {
      nowMs += 1;
      made.push(name);
    });
  const endTurn = async () => {
    made.length = 0;
    for (const end of ends.splice(0)) end();
    await new Promise(setImmediate);
    return made.join("");
  };
  return { made, work, endTurn };
}

describe("long works", () => {
  it("of many requests share the time of one turn, and go on in order in the turns that follow", async () => {
    const { made, work, endTurn } = scene();
    const works = [work("a", 9), work("b", 9), work("c", 2)];
    assert.equal(made.join(""), "aaaaaa");
    assert.equal(await endTurn(), "aaabbb");
    assert.equal(await endTurn(), "ccbbbb");
    assert.equal(await endTurn(), "bb");
    await Promise.all(works);
  });

  it("of one item need no turns", async () => {
    const { made, work } = scene();
    void work("long", 9);
    made.length = 0;
    await Promise.all([work("b", 1), work("c", 1)]);
    assert.equal(made.join(""), "bc");
  });
});
