import assert from "node:assert/strict";
import { it } from "node:test";
import { SeededRandom } from "../seeded-random.ts";
import { opening, round } from "./plan.ts";

it("a seed gives the same faults again, another one others", () => {
  const planOf = (seed: number) => JSON.stringify([opening(new SeededRandom(seed)), round(new SeededRandom(seed))]);
  assert.equal(planOf(1), planOf(1));
  assert.notEqual(planOf(1), planOf(2));
});

it("a round kills the server twice and has every action; the opening leaves the server up", () => {
  const actions = round(new SeededRandom(1)).map(({ action }) => action);
  assert.equal(new Set(actions).size, 9);
  assert.equal(actions.filter((action) => action === "KILL_SERVER").length, 2);
  assert.ok(!opening(new SeededRandom(1)).some(({ action }) => action.includes("SERVER")));
});
