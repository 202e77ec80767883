import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DEPTH_MAX, RESULT_MAX_BYTES, WORD_CHARS_MAX } from "@mainspring/contract/limits";
import * as gateway from "./gateway/limits.ts";

describe("the limits of a gateway", () => {
  it("agree with the contract of the HTTP API", () => {
    assert.equal(gateway.RESULT_MAX_BYTES, RESULT_MAX_BYTES);
    assert.equal(gateway.RESULT_DEPTH_MAX, DEPTH_MAX, "a result can be the payload of the next job");
    assert.equal(gateway.NAME_MAX_CHARS, WORD_CHARS_MAX, "a worker can offer every handler that a job can name");
  });
});
