import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { type Accounts, signUpTask } from "./approved-sign-up.ts";

// No server is needed: `npx node --test examples/approved-sign-up.test.ts`.

/** Accounts that record what was done for them. `isDown`: the mail server does not answer. */
function recorded() {
  const done: string[] = [];
  const world = { done, isDown: false };
  const accounts: Accounts = {
    create: async (email) => {
      done.push(`create ${email}`);
      return `account of ${email}`;
    },
    set: async (account, state) => void done.push(`${account} is ${state}`),
    mail: async (_, text) => {
      if (world.isDown) throw new Error("the mail server does not answer");
      done.push(text);
    },
  };
  return { world, signUp: signUpTask(accounts) };
}

test("an approved account is opened, and its user is asked three days later how it goes", async () => {
  const { world, signUp } = recorded();
  await using m = await simulate({ tasks: [signUp], slots: 1, startAt: "2026-03-02T09:00:00Z" });

  const job = await signUp.submit(m.client, { email: "ada@example.com" });
  await m.clock.advance("2 days");
  assert.deepEqual(world.done, ["create ada@example.com", "We look at your request."]);
  assert.equal((await job.get()).reason, "AWAITS_SIGNAL");

  // The operator presses the button twice.
  await m.signal(job, "approved", { by: "Grace" }, { id: "decision" });
  await m.signal(job, "approved", { by: "Grace" }, { id: "decision" });
  await m.clock.advance("1 min");
  assert.deepEqual(world.done.slice(2), ["account of ada@example.com is open", "Welcome!"]);

  await m.clock.advance("2 days 23 h");
  assert.equal(world.done.length, 4);
  const { result, finishedAt } = await m.waitFor(job);
  assert.deepEqual(result, { account: "account of ada@example.com", outcome: "approved by Grace" });
  assert.equal(finishedAt?.slice(0, 10), "2026-03-07");
  assert.equal(world.done.at(-1), "How do you get on?");
});

test("a rejected account is closed, and so is one that nobody has decided about within a week", async () => {
  const { world, signUp } = recorded();
  await using m = await simulate({ tasks: [signUp] });

  const rejected = await signUp.submit(m.client, { email: "eve@example.com" });
  const forgotten = await signUp.submit(m.client, { email: "bob@example.com" });
  await m.signal(rejected, "rejected", { by: "Grace" });
  assert.deepEqual((await m.waitFor(rejected)).result, {
    account: "account of eve@example.com",
    outcome: "rejected by Grace",
  });

  const { result } = await m.waitFor(forgotten, "SUCCEEDED", { within: "8 days" });
  assert.deepEqual(result, { account: "account of bob@example.com", outcome: "nobody decided" });
  assert.equal(world.done.filter((text) => text === "We cannot offer you an account.").length, 2);
});

test("a mail server that is down after the approval repeats neither the account nor the question", async () => {
  const { world, signUp } = recorded();
  await using m = await simulate({ tasks: [signUp] });

  const job = await signUp.submit(m.client, { email: "ada@example.com" });
  await m.clock.advance("1 hour");
  world.isDown = true;
  await m.signal(job, "approved", { by: "Grace" });
  await m.clock.advance("5 min");
  assert.equal(m.failures.length, 3);
  world.isDown = false;
  await m.waitFor(job, "SUCCEEDED", { within: "4 days" });
  assert.deepEqual(world.done, [
    "create ada@example.com",
    "We look at your request.",
    "account of ada@example.com is open",
    "Welcome!",
    "How do you get on?",
  ]);
});
