import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DueDelivery } from "../../ports/store-webhooks.ts";
import { judgeAnswer } from "./judge-answer.ts";

const NOW = 1_000_000;
const DELIVERY = { id: "d", tries: 0 } as unknown as DueDelivery;
const judge = (status: number, excerpt = "") => judgeAnswer(DELIVERY, { status, excerpt, notBefore: null }, NOW, 0.5);

describe("the result of a try", () => {
  it("is a delivery only for an answer of 2xx", () => {
    assert.deepEqual(
      [200, 204, 299].map((status) => judge(status).state),
      ["DELIVERED", "DELIVERED", "DELIVERED"],
    );
    assert.deepEqual(
      [199, 301, 404, 500].map((status) => judge(status).state),
      Array(4).fill("PENDING"),
    );
  });

  it("says why it failed, with what the receiver answered", () => {
    assert.equal(judge(302).error, "it answered 302 (redirects are not followed)");
    assert.equal(judge(500, "out of order").error, "it answered 500: out of order");
  });

  it("ends the tries when the receiver wants no more", () => {
    const { state, nextAt, isGone } = judge(410);
    assert.deepEqual({ state, nextAt, isGone }, { state: "FAILED", nextAt: null, isGone: true });
  });

  it("keeps a reason that every store can write, wherever the cut falls", () => {
    for (const shift of [0, 1]) {
      const reason = judgeAnswer(DELIVERY, new Error(`${"x".repeat(shift)}${"😀".repeat(300)}\u0000`), NOW, 0.5).error;
      assert.ok(reason?.isWellFormed(), `cut after ${shift} characters`);
      assert.equal(reason?.length, 500);
    }
  });
});
