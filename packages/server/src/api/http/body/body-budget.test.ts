import assert from "node:assert/strict";
import { it } from "node:test";
import { ProblemError } from "../errors.ts";
import { BodyBudget } from "./body-budget.ts";

const LARGE_BYTES = 60_000;

it("the budget refuses a large body while others fill it, a small one never, and takes all of them again later", () => {
  const budget = new BodyBudget(100_000);
  const [first, second, small] = [budget.share(), budget.share(), budget.share()];
  first.growTo(LARGE_BYTES);
  assert.throws(
    () => second.growTo(LARGE_BYTES),
    (error) => error instanceof ProblemError && error.problem.status === 429,
  );
  small.growTo(10_000);
  second.growTo(30_000);
  assert.equal(budget.takenBytes, 90_000);
  first.release();
  second.growTo(LARGE_BYTES);
  second.release();
  small.release();
  assert.equal(budget.takenBytes, 0);
});

it("the budget takes a body that is alone, whatever its size", () => {
  const budget = new BodyBudget(1);
  budget.share().growTo(LARGE_BYTES);
  assert.equal(budget.takenBytes, LARGE_BYTES);
});

it("the bodies of a tenant beside others take half of what the others leave, and a single one is taken", () => {
  let hasSeveral = true;
  const budget = new BodyBudget(200_000, () => hasSeveral);
  const refused = (error: unknown) => error instanceof ProblemError && error.problem.status === 429;
  const [first, second, third] = [budget.share("acme"), budget.share("acme"), budget.share("acme")];
  first.growTo(LARGE_BYTES);
  second.growTo(40_000);
  assert.throws(() => third.growTo(LARGE_BYTES), refused);
  assert.throws(() => second.growTo(40_001), refused);
  budget.share("other").growTo(90_000);
  assert.throws(() => budget.share("other").growTo(LARGE_BYTES), refused);
  assert.equal(budget.takenBytes, 190_000);
  assert.equal(budget.refusedOfTenants, 2);
  first.release();
  assert.throws(() => third.growTo(LARGE_BYTES), refused, "half of 110,000 bytes is less than 100,000");
  second.release();
  third.growTo(LARGE_BYTES);
  hasSeveral = false;
  budget.share("acme").growTo(20_000);
  assert.equal(budget.takenBytes, 170_000);
});
