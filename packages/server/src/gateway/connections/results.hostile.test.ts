import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RESULT_MAX_BYTES } from "@mainspring/contract/limits";
import { assignment, stageWithWorker } from "../gateway.fixture.ts";

const bytes = (text: string) => Buffer.from(text);

function resultOf(result: Uint8Array) {
  const { stage, worker } = stageWithWorker();
  stage.assign(assignment(1));
  const { token = {} } = worker.assigns[0] ?? {};
  worker.say({ finished: [{ token, outcome: 1, result }] });
  const [attempt] = stage.reportsOf("FINISHED").flatMap(({ results }) => results);
  assert.ok(attempt);
  return { ...attempt, worker };
}

describe("a result that a worker sends", () => {
  const hostile: [string, Uint8Array, RegExp][] = [
    ["JSON with members behind it", bytes('null,"state":"DEAD","x":1'), /byte 4/],
    ["two values", bytes("1 2"), /byte 2/],
    ["bytes that are no UTF-8", new Uint8Array([0xff, 0xfe, 0x7b]), /not valid UTF-8/],
    ["half of a surrogate pair in UTF-8", new Uint8Array([0x22, 0xed, 0xa0, 0x80, 0x22]), /not valid UTF-8/],
    ["a byte order mark", bytes("\ufeff1"), /byte 0/],
    ["a NUL as it is", bytes('"\u0000"'), /byte/],
    ["white space only", bytes("  "), /ends too early/],
    ["a text without quotes", bytes("hello"), /byte 0/],
    ["129 levels", bytes("[".repeat(129) + "]".repeat(129)), /deeper than 128/],
    ["a million open brackets", bytes("[".repeat(1_000_000)), /deeper than 128/],
  ];
  for (const [what, result, message] of hostile) {
    it(`fails the attempt where it is ${what}, and says why`, () => {
      const { state, result: kept, error, advice, worker } = resultOf(result);
      assert.deepEqual([state, kept, error?.name, advice], ["FAILED", null, "ResultInvalid", { kind: "NEVER" }]);
      assert.match(error?.message ?? "", /^result invalid: .*one JSON value, in UTF-8$/);
      assert.match(error?.message ?? "", message);
      assert.equal(worker.closedWith, null);
    });
  }

  for (const text of ["null", ' {"a": [1, 2]} ', '"\\u0000 \\ud800"', "[".repeat(128) + "]".repeat(128), '"ä 𝄞"']) {
    it(`is kept byte for byte where it is JSON, as ${text.slice(0, 20)}`, () => {
      const { state, result } = resultOf(bytes(text));
      assert.deepEqual([state, Buffer.from(result ?? []).toString()], ["SUCCEEDED", text]);
    });
  }

  it("fails the attempt where it is too large", () => {
    assert.equal(resultOf(Buffer.alloc(RESULT_MAX_BYTES + 1, "1")).error?.name, "ResultTooLarge");
    assert.equal(resultOf(Buffer.alloc(RESULT_MAX_BYTES, "1")).state, "SUCCEEDED");
  });
});
