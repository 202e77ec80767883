import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { StartBoard } from "./start-board.ts";

const start = (number: number) => ({
  executionId: `execution ${number}`,
  attempt: number,
  startedAtMs: 1_000.5 + number,
});

describe("the starts that the threads of a worker share", () => {
  it("are told once, when they were not reported since the last look", () => {
    const handlers = StartBoard.of(20);
    const session = new StartBoard(handlers.memory);
    handlers.add(start(1));
    handlers.add(start(2));
    assert.deepEqual(session.stale(), []);
    handlers.add(start(3));
    assert.deepEqual(session.stale(), [start(1), start(2)]);
    assert.deepEqual(session.stale(), [start(3)]);
    assert.deepEqual(session.stale(), []);
    handlers.add(start(4));
    handlers.reported();
    session.stale();
    assert.deepEqual(session.stale(), []);
  });

  it("are the last ones, as many as there are slots, where handlers that end at once have come before them", () => {
    const handlers = StartBoard.of(3);
    const session = new StartBoard(handlers.memory);
    for (let number = 1; number <= 100; number++) handlers.add(start(number));
    session.stale();
    assert.deepEqual(session.stale(), [start(98), start(99), start(100)]);
  });

  it("leave out an id that is too long for them", () => {
    const handlers = StartBoard.of(1);
    const session = new StartBoard(handlers.memory);
    handlers.add({ ...start(1), executionId: "x".repeat(49) });
    session.stale();
    assert.deepEqual(session.stale(), []);
  });

  it("stay right when their count overflows", () => {
    const handlers = StartBoard.of(3);
    new Int32Array(handlers.memory, 0, 2).fill(2 ** 31 - 2);
    const session = new StartBoard(handlers.memory);
    // The first call stands for a session that has polled all the time.
    session.stale();
    handlers.add(start(1));
    handlers.add(start(2));
    handlers.add(start(3));
    session.stale();
    assert.deepEqual(session.stale(), [start(1), start(2), start(3)]);
  });
});
