import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EVENT_KINDS } from "@mainspring/contract/enums";
import fc from "fast-check";
import type { LifecycleEvent } from "../domain/lifecycle-event.ts";
import { certainBlock, eventsOfRow, ownBlock } from "./event-blocks.ts";
import { eventBytes, eventsFrom, MalformedEvents } from "./event-bytes.ts";
import { UnstorableValue } from "./storable.ts";

const NOTHING = { missed: new Set<string>(), held: new Set<string>(), unrecorded: new Set<string>() };
const whole = fc.integer({ min: -(2 ** 50), max: 2 ** 50 });
const orNull = <T>(of: fc.Arbitrary<T>) => fc.option(of, { nil: null });
/** Few different values, as batches have. */
const text = fc.oneof(fc.constantFrom("", "default", "écho", "0190-"), fc.string({ unit: "grapheme" }));
const id = fc.oneof(
  fc.uuid(),
  fc.uuid().map((value) => value.toUpperCase()),
);
const event = fc.record(
  {
    kind: fc.constantFrom(...EVENT_KINDS),
    at: whole,
    ...{ executionId: orNull(id), jobId: orNull(id), workflowId: orNull(id), node: orNull(whole), item: orNull(whole) },
    ...{ tenant: text, pool: text, handler: text, trigger: orNull(fc.constantFrom("API", "RETRY")) },
    ...{ attempt: fc.nat(), workerId: orNull(text), state: orNull(fc.constantFrom("DEAD", "PENDING")) },
    ...{ reason: orNull(text), scheduledAt: orNull(whole), createdAt: orNull(whole), startedAt: orNull(whole) },
    ...{
      finishedAt: orNull(whole),
      failures: fc.nat(),
      lost: fc.nat(),
      errorName: orNull(text),
      step: orNull(text),
      jobVersion: fc.nat(),
    },
    ...{ session: orNull(text), traceparent: orNull(text) },
  },
  { noNullPrototype: true },
) as fc.Arbitrary<LifecycleEvent>;

describe("the bytes of lifecycle events", () => {
  it("give the events back", () => {
    fc.assert(fc.property(fc.array(event), (events) => assert.deepEqual(eventsFrom(eventBytes(events)), events)));
  });

  it("give the events of several blocks back, those that depend on the commit without what it did not write", () => {
    fc.assert(
      fc.property(fc.array(event), fc.array(event, { minLength: 1 }), (own, moved) => {
        const bytes = Buffer.concat([ownBlock(own), certainBlock(moved), certainBlock(moved)]);
        assert.deepEqual(eventsOfRow(bytes, NOTHING), [...own, ...moved, ...moved]);
        const missed = new Set(own.flatMap(({ executionId, jobId }) => executionId ?? jobId ?? []));
        const left = own.filter(({ executionId, jobId }) => executionId === null && jobId === null);
        assert.deepEqual(eventsOfRow(bytes, { ...NOTHING, missed }), [...left, ...moved, ...moved]);
      }),
    );
  });

  it("are few where events are alike", () => {
    const [one] = fc.sample(event, { numRuns: 1, seed: 1 }) as [LifecycleEvent];
    const many = Array.from({ length: 1_000 }, (_, i) => ({ ...one, at: 1_700_000_000_000 + i }));
    const bytes = ownBlock(many);
    assert.ok(bytes.length < 2_000, `${bytes.length} bytes`);
    assert.deepEqual(eventsOfRow(bytes, NOTHING), many);
  });

  it("are refused if they are others, with little memory", () => {
    fc.assert(
      fc.property(fc.array(event, { minLength: 1 }), fc.nat(), fc.nat(255), (events, place, byte) => {
        const bytes = Buffer.from(certainBlock(events));
        bytes[place % bytes.length] = byte;
        for (const other of [bytes, bytes.subarray(0, place % bytes.length)]) {
          try {
            eventsOfRow(other, NOTHING);
          } catch (error) {
            assert.ok(error instanceof MalformedEvents, String(error));
          }
        }
      }),
    );
    const huge = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x7f, 0]);
    assert.throws(() => eventsFrom(huge), MalformedEvents);
  });

  it("cannot hold a number that is not whole", () => {
    const [one] = fc.sample(event, { numRuns: 1, seed: 1 }) as [LifecycleEvent];
    assert.throws(() => eventBytes([{ ...one, at: 1.5 }]), UnstorableValue);
    assert.throws(() => eventBytes([{ ...one, at: 2 ** 53 }]), UnstorableValue);
  });
});
