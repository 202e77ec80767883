import assert from "node:assert/strict";
import { it } from "node:test";
import { Mailboxes } from "./mailboxes.ts";
import type { ToGateway, Token } from "./messages.ts";

const refused = (count: number): ToGateway => {
  const token: Token = { shard: 0, executionId: "019a0000-0000-7000-8000-000000000000", attempt: 1 };
  return { kind: "REFUSED", workerId: "w", tokens: Array.from({ length: count }, () => token) };
};

it("a mailbox delivers messages about thousands of attempts in a turn of their own, and what came after them behind them", async () => {
  const deferred: (() => void)[] = [];
  const mailboxes = new Mailboxes((run) => void deferred.push(run));
  const heard: number[] = [];
  mailboxes.listen("gateway", (envelopes) => {
    for (const { message } of envelopes) heard.push("tokens" in message ? message.tokens.length : 0);
  });
  mailboxes.put("n", "gateway", refused(10));
  await Promise.resolve();
  assert.deepEqual([heard, deferred.length], [[10], 0]);
  mailboxes.put("n", "gateway", refused(12_000));
  await Promise.resolve();
  mailboxes.put("n", "gateway", refused(20));
  await Promise.resolve();
  assert.deepEqual([heard, deferred.length], [[10], 1]);
  deferred.pop()?.();
  assert.deepEqual(heard, [10, 12_000, 20]);
  for (let n = 0; n < 3_000; n++) mailboxes.put("n", "gateway", refused(1));
  await Promise.resolve();
  assert.deepEqual([heard.length, deferred.length], [3, 1]);
});
