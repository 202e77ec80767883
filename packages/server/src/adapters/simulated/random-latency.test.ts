import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Fate, isAnswered } from "./fate.ts";
import { noFaults, randomLatency } from "./random-latency.ts";

const CALL = { node: "a", operation: "commit" } as const;

describe("the random latency", () => {
  it("answers every call in fair weather, each after a while of its own", () => {
    const fates = thrown(1_000, noFaults());
    assert.ok(fates.every(isAnswered));
    assert.ok(new Set(fates.map(({ effectAfterMs }) => effectAfterMs)).size > 900);
  });

  it("lets nothing through while the store is down", () => {
    const fates = thrown(100, { ...noFaults(), isDown: true });
    assert.ok(fates.every(({ effectAfterMs, givesUpAfterMs }) => effectAfterMs === null && givesUpAfterMs <= 12_000));
  });

  it("deals out each fault in its share", () => {
    const shares = { slow: 0.1, neverArrives: 0.2, answerLost: 0.3, late: 0.1 };
    const fates = thrown(10_000, { ...noFaults(), shares });
    const share = (isOne: (fate: Fate) => boolean) => Math.round((10 * fates.filter(isOne).length) / fates.length) / 10;
    const late = ({ effectAfterMs, givesUpAfterMs }: Fate) => effectAfterMs !== null && effectAfterMs > givesUpAfterMs;
    assert.deepEqual(
      {
        slow: share((fate) => isAnswered(fate) && (fate.effectAfterMs ?? 0) > 50),
        neverArrives: share(({ effectAfterMs }) => effectAfterMs === null),
        answerLost: share(({ answerAfterMs }) => answerAfterMs === null),
        late: share(late),
      },
      shares,
    );
  });

  it("is the same for the same random numbers", () => {
    assert.deepEqual(thrown(100, noFaults()), thrown(100, noFaults()));
  });
});

function thrown(count: number, profile: ReturnType<typeof noFaults>): Fate[] {
  let state = 1;
  const latency = randomLatency(() => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 0x100000000;
  }, profile);
  return Array.from({ length: count }, () => latency(CALL));
}
