import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { REGISTERED_FRESH_MS, withRegistered } from "./registered-workers.ts";

type Worker = Parameters<typeof withRegistered>[0][number];

const worker = (workerId: string, state: Worker["state"], connectedAt: number): Worker => ({
  ...{ workerId, state, connectedAt },
  ...{ running: 2, free: 1, stuck: 1 },
});
const statesOf = (told: readonly Worker[], ageMs: number, ...workers: Worker[]) =>
  withRegistered(told, [{ gateway: "g", ageMs, workers }]).map(({ workerId, state }) => [workerId, state]);

describe("workers of the registry", () => {
  it("are DISCONNECTED for 30 seconds after the last word of their gateway, then DEAD, with nothing that runs", () => {
    const last = worker("w", "ALIVE", 5);
    assert.deepEqual(withRegistered([], [{ gateway: "g", ageMs: REGISTERED_FRESH_MS - 1, workers: [last] }]), [
      { ...last, state: "DISCONNECTED" },
    ]);
    assert.deepEqual(withRegistered([], [{ gateway: "g", ageMs: REGISTERED_FRESH_MS, workers: [last] }]), [
      { ...last, state: "DEAD", running: 0, free: 0, stuck: 0 },
    ]);
    assert.deepEqual(statesOf([], 0, worker("w", "DEAD", 5)), [["w", "DEAD"]]);
  });

  it("do not count where a gateway has the worker, whatever the times of its connections say", () => {
    for (const state of ["ALIVE", "DRAINING"] as const)
      assert.deepEqual(statesOf([worker("w", state, 1)], 0, worker("w", "ALIVE", 9)), [["w", state]]);
  });

  it("count where no gateway has the worker any more, if their connection is newer", () => {
    assert.deepEqual(statesOf([worker("w", "DEAD", 1)], 0, worker("w", "ALIVE", 9)), [["w", "DISCONNECTED"]]);
    assert.deepEqual(statesOf([worker("w", "DEAD", 9)], 0, worker("w", "ALIVE", 1)), [["w", "DEAD"]]);
  });

  it("stand among the others, the newest connection first", () => {
    const listed = statesOf([worker("a", "ALIVE", 2)], 0, worker("b", "ALIVE", 3), worker("c", "ALIVE", 2));
    assert.deepEqual(listed, [
      ["b", "DISCONNECTED"],
      ["a", "ALIVE"],
      ["c", "DISCONNECTED"],
    ]);
  });
});
