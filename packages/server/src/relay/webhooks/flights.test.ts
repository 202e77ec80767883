import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EACH_MAX, Flights } from "./flights.ts";

const delivery = (webhook: string, n: number) => ({ webhook, id: `${webhook}-${n}` });
const takeAll = (flights: Flights, webhook: string, count: number) =>
  Array.from({ length: count }, (_, n) => flights.take(delivery(webhook, n))).filter(Boolean).length;

describe("deliveries under way", () => {
  it("have a few places for each webhook, and one for a webhook that fails", () => {
    const flights = new Flights();
    assert.equal(takeAll(flights, "a", 20), EACH_MAX);
    assert.deepEqual([...flights.busy], ["a"]);
    flights.tell("a", false);
    for (let n = 0; n < EACH_MAX; n++) {
      assert.deepEqual([...flights.busy], ["a"]);
      flights.leave(delivery("a", n));
    }
    assert.deepEqual([flights.size, takeAll(flights, "a", 20)], [0, 1]);
    flights.leave(delivery("a", 0));
    flights.tell("a", true);
    assert.equal(takeAll(flights, "a", 20), EACH_MAX);
  });

  it("do not begin twice", () => {
    const flights = new Flights();
    assert.deepEqual([flights.take(delivery("a", 1)), flights.take(delivery("a", 1))], [true, false]);
    flights.leave(delivery("a", 1));
    flights.leave(delivery("a", 1));
    assert.equal(flights.size, 0);
  });

  it("to webhooks that fail leave half of all places to the others", () => {
    const flights = new Flights();
    for (let n = 0; n < 300; n++) flights.tell(`bad${n}`, false);
    const bad = Array.from({ length: 300 }, (_, n) => flights.take(delivery(`bad${n}`, 0))).filter(Boolean).length;
    assert.equal(bad, 128);
    const good = Array.from({ length: 300 }, (_, n) => flights.take(delivery(`good${n}`, 0))).filter(Boolean).length;
    assert.equal(good, 128);
    flights.leave(delivery("bad0", 0));
    assert.equal(flights.take(delivery("bad200", 0)), true);
  });
});
