import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Account, Credits } from "./credits.ts";

describe("credits", () => {
  it("allocate every free slot once, and again when it is free", () => {
    const { credits, account } = lent(3);
    assert.equal(credits.allocate(["a"], 3, 0), false);
    assert.equal(account.use(1), true);
    assert.equal(credits.allocate(["a"], 2, 0), false);
    assert.equal(credits.allocate(["a"], 3, 0), true);
    assert.equal(account.granted, 4);
  });

  it("take assignments in any order, each once, none that was never allocated, and know which are missing", () => {
    const { account } = lent(10);
    const uses = [3, 1, 3, 1, 7, 11, 7].map((number) => account.use(number));
    assert.deepEqual(uses, [true, true, false, false, true, false, false]);
    assert.deepEqual([account.highest, account.missing(), account.outstanding], [7, [2, 4, 5, 6], 7]);
    assert.equal(account.use(4), true);
    assert.deepEqual(account.missing(), [2, 5, 6]);
  });

  it("tell the lowest of very many missing numbers", () => {
    const { account } = lent(10_000);
    account.use(10_000);
    const missing = account.missing();
    assert.deepEqual([missing.length, missing[0], missing.at(-1)], [256, 1, 256]);
  });

  it("take back what was allocated under an account that is closed, or that another one follows", () => {
    const { credits, account } = lent(4);
    assert.equal(account.use(1), true);
    credits.open("a", 2);
    credits.open("b", 3);
    assert.equal(credits.allocate(["b"], 3, 0), true);
    assert.equal(credits.account("b")?.granted, 3);
    credits.close("b");
    assert.equal(credits.allocate(["a"], 3, 0), true);
    assert.equal(credits.account("a")?.granted, 3);
  });
});

function lent(capacity: number): { credits: Credits; account: Account } {
  const credits = new Credits();
  credits.open("a", 1);
  assert.equal(credits.allocate(["a"], capacity, 0), true);
  return { credits, account: credits.account("a") as Account };
}
