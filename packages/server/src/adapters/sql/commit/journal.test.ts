import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { JournalEntry } from "../../../ports/store.ts";
import { journalEntries, journalText } from "./journal.ts";

const fields = {
  id: fc.uuid(),
  attempt: fc.integer({ min: 1, max: 3 }),
  workerId: fc.constantFrom("w1", 'w"2', "w\u0000,3", "\ud800"),
  gateway: fc.constantFrom("g1", "g2"),
  assignedAt: fc.constantFrom(1, 2),
};
const entry: fc.Arbitrary<JournalEntry> = fc.record(fields, { noNullPrototype: true });

it("keeps every assignment of a tick, in whatever order they came", () => {
  fc.assert(
    fc.property(fc.uniqueArray(entry, { selector: ({ id }) => id, minLength: 1 }), (entries) => {
      const byId = (a: JournalEntry, b: JournalEntry) => (a.id < b.id ? -1 : 1);
      assert.deepEqual(journalEntries(journalText(entries)).sort(byId), [...entries].sort(byId));
    }),
  );
});

it("says once what many assignments have in common", () => {
  const alike = Array.from({ length: 100 }, (_, i) => ({
    id: `00000000-0000-7000-8000-${String(i).padStart(12, "0")}`,
    attempt: 1,
    workerId: "w1",
    gateway: "g1",
    assignedAt: 1,
  }));
  assert.equal(journalText(alike).split("w1").length, 2);
  assert.ok(journalText(alike).length < 100 * 38);
});
