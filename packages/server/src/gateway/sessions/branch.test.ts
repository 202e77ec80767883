import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outcome } from "@mainspring/proto";
import type { FinishedAttempt } from "../../ports/messages.ts";
import { assignment, stageWithWorker, tokenOf } from "../gateway.fixture.ts";

/** Lets a worker report the end of an attempt. @returns the result that the owner of the shard gets */
function reported(outcome: Outcome, branch?: string): FinishedAttempt {
  const { stage, worker } = stageWithWorker();
  stage.assign(assignment(1));
  const named = branch === undefined ? {} : { branch };
  worker.say({ finished: [{ token: tokenOf(assignment(1)), outcome, startedAtMs: 5n, finishedAtMs: 7n, ...named }] });
  const [attempt] = stage.reportsOf("FINISHED").flatMap(({ results }) => results);
  assert.ok(attempt);
  return attempt;
}

describe("the branch of an attempt", () => {
  for (const name of ["good", "A-z_0.9", "x".repeat(64)]) {
    it(`goes to the owner with the success: ${name.slice(0, 9)}`, () => {
      const { state, branch } = reported(Outcome.SUCCEEDED, name);
      assert.deepEqual([state, branch], ["SUCCEEDED", name]);
    });
  }

  it("is no field of the result where the handler named none, or did not succeed", () => {
    for (const result of [
      reported(Outcome.SUCCEEDED),
      reported(Outcome.FAILED, "good"),
      reported(Outcome.CANCELLED, "good"),
      reported(Outcome.RELEASED, "good"),
      reported(Outcome.FAILED, "no name"),
    ]) {
      assert.equal(Object.hasOwn(result, "branch"), false, result.state);
      assert.notEqual(result.error?.name, "InvalidBranch");
    }
  });

  for (const name of ["", "no name", "a/b", "ü", "good\n", "a\u0000", "x".repeat(65), "x".repeat(1_000_000)]) {
    it(`fails the attempt for good where it is ${JSON.stringify(name.slice(0, 9))} (${name.length})`, () => {
      const result = reported(Outcome.SUCCEEDED, name);
      const { state, error, advice, startedAt, finishedAt } = result;
      assert.deepEqual([state, error?.name, advice], ["FAILED", "InvalidBranch", { kind: "NEVER" }]);
      assert.deepEqual([result.result, startedAt, finishedAt, result.branch], [null, 5, 7, undefined]);
    });
  }
});
