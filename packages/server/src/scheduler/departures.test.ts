import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualRuntime, settled } from "../ports/manual-runtime.fixture.ts";
import type { Assignment } from "../ports/messages.ts";
import { Departures } from "./departures.ts";

describe("an assignment on its way out", () => {
  /** @param readings what looking for payloads comes to, one after the other; then they are at hand */
  const scene = (readings: Promise<void>[] = []) => {
    const runtime = new ManualRuntime();
    const ended = new Set<string>();
    const sent: string[] = [];
    const dueAt = new Map<string, number>();
    const departures = new Departures({
      runtime,
      payloads: { attach: () => readings.shift() ?? null },
      log: { warn: () => undefined },
      isOver: () => false,
      stillWanted: (assigns) => assigns.filter(({ executionId }) => !ended.has(executionId)),
      sendableAt: ({ executionId }) => dueAt.get(executionId) ?? 0,
      send: (assigns) => sent.push(...assigns.map(({ executionId }) => executionId)),
    });
    const send = (...ids: string[]) => departures.send(ids.map((executionId) => ({ executionId }) as Assignment));
    return { runtime, ended, sent, dueAt, send };
  };

  it("leaves at once where its payload is at hand", () => {
    const { sent, send } = scene();
    void send("a", "b");
    assert.deepEqual(sent, ["a", "b"]);
  });

  it("does not leave if it ended while its payload was read", async () => {
    const reading = Promise.withResolvers<void>();
    const { ended, sent, send } = scene([reading.promise]);
    void send("a", "b");
    ended.add("a");
    reading.resolve();
    await settled();
    assert.deepEqual(sent, ["b"]);
  });

  it("does not leave if it ended before a read that had failed was to be repeated, even if its payload has come otherwise", async () => {
    const { runtime, ended, sent, send } = scene([Promise.reject(new Error("the store is down"))]);
    void send("a", "b");
    await settled();
    ended.add("a");
    await runtime.advance(1_000);
    assert.deepEqual(sent, ["b"]);
  });

  it("waits until it is due, and does not leave if it ended by then", async () => {
    const { runtime, ended, sent, dueAt, send } = scene();
    for (const id of ["a", "b"]) dueAt.set(id, runtime.now() + 5);
    void send("a", "b", "c");
    assert.deepEqual(sent, ["c"]);
    ended.add("a");
    await runtime.advance(5);
    assert.deepEqual(sent, ["c", "b"]);
  });
});
