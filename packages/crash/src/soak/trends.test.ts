import assert from "node:assert/strict";
import { it } from "node:test";
import type { Sample } from "./samples.ts";
import { growths } from "./trends.ts";

const sampleAt = (minute: number, changes: Partial<Sample> = {}): Sample => ({
  ...{ atSec: 60 * minute, nodeMib: 150, executions: 1_000 * (minute + 1), historyMib: minute + 1 },
  ...{ otherMib: 5, walMib: 3 * minute, ...changes },
});
const minutes = Array.from({ length: 60 }, (_, minute) => minute);

it("accuses nothing that is as large at the end as in the second quarter", () => {
  assert.deepEqual(growths(minutes.map((minute) => sampleAt(minute))), []);
  const filling = minutes.map((minute) => sampleAt(minute, { nodeMib: Math.min(300, 80 + 20 * minute) }));
  assert.deepEqual(growths(filling), [], "a node that fills its caches in the first quarter");
});

it("accuses memory, tables and rows that grow all the time", () => {
  const rulesOf = (changes: (minute: number) => Partial<Sample>) =>
    growths(minutes.map((minute) => sampleAt(minute, changes(minute)))).map(({ rule }) => rule);
  assert.deepEqual(
    rulesOf((minute) => ({ nodeMib: 150 + 5 * minute })),
    ["memoryIsFlat"],
  );
  assert.deepEqual(
    rulesOf((minute) => ({ otherMib: 5 + 4 * minute })),
    ["otherTablesAreFlat"],
  );
  assert.deepEqual(
    rulesOf((minute) => ({ historyMib: (minute + 1) ** 1.7 })),
    ["executionsKeepTheirSize"],
  );
});

it("says nothing of a run that is too short", () => {
  assert.deepEqual(growths(minutes.slice(0, 5).map((minute) => sampleAt(minute, { nodeMib: 10 ** minute }))), []);
});
