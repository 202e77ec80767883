import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SinkRefused, SinkUnavailable } from "../ports/event-sink.ts";
import { RelayWaits } from "./relay-waits.ts";

describe("the waits of a relay", () => {
  it("grow while the sink is down, and start again when it works", () => {
    const waits = new RelayWaits();
    const failures = Array.from({ length: 11 }, () => waits.failed(new SinkUnavailable("down")));
    assert.deepEqual(
      failures.map(({ waitMs }) => waitMs),
      [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000, 10_000, 10_000],
    );
    assert.deepEqual(
      failures.filter(({ isNews }) => isNews),
      [{ waitMs: 100, isNews: true }],
    );
    assert.equal(waits.worked(), true);
    assert.equal(waits.worked(), false);
    assert.deepEqual(waits.failed(new Error("again")), { waitMs: 100, isNews: true });
  });

  it("tell each refusal once, and are long", () => {
    const waits = new RelayWaits();
    const refused = (text: string) => waits.failed(new SinkRefused(text));
    assert.deepEqual(refused("no rights"), { waitMs: 60_000, isNews: true });
    assert.deepEqual(refused("no rights"), { waitMs: 60_000, isNews: false });
    assert.deepEqual(refused("no topic"), { waitMs: 60_000, isNews: true });
    assert.equal(waits.isDown, true);
  });
});
