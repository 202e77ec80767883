import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { uuidSource } from "../adapters/system/system-runtime.ts";
import { firstExecutionId, jobOfFirstExecution } from "./ids.ts";

describe("the id of a job's first execution", () => {
  const source = uuidSource(() => Date.UTC(2026, 10, 23));
  const jobIds = Array.from({ length: 10_000 }, source);

  it("differs from the job's id in the first digit of the last group, by 8", () => {
    const jobId = "019ab3f2-7a01-7abc-9def-3123456789ab";
    assert.equal(firstExecutionId(jobId), "019ab3f2-7a01-7abc-9def-b123456789ab");
    assert.equal(firstExecutionId(firstExecutionId(jobId)), jobId);
  });

  it("leads back to the job, for each value of the digit", () => {
    assert.equal(new Set(jobIds.map((id) => id.charAt(24))).size, 16);
    assert.deepEqual(jobIds.map(firstExecutionId).map(jobOfFirstExecution), jobIds);
  });

  it("is no id of a job or of another execution of its process", () => {
    assert.equal(new Set([...jobIds, ...jobIds.map(firstExecutionId)]).size, 2 * jobIds.length);
  });
});
