import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { mailTasks, signUp } from "./sign-up.ts";

// No server is needed: `npx node --test examples/sign-up.test.ts`.

test("who signs up gets a mail at once, and another one three days later", async () => {
  const sent: string[] = [];
  const tasks = mailTasks(async (to, text) => void sent.push(`${to}: ${text}`));
  await using m = await simulate({ tasks: Object.values(tasks) });

  const job = await signUp(m.client, tasks, "ada@example.com");
  assert.deepEqual(sent, []);
  assert.equal(m.enqueued(tasks.remind).length, 1);

  await m.waitFor(job, "SUCCEEDED");
  assert.deepEqual(sent, ["ada@example.com: Welcome!"]);

  // The same request again, after the first mail was sent.
  await signUp(m.client, tasks, "ada@example.com");
  await m.clock.advance("2 days");
  assert.equal(sent.length, 1);
  await m.clock.advance("1 day");
  assert.equal(sent[1], "ada@example.com: We have not seen you for three days.");
});

test("a mail server that is down for ten minutes delays the mail, and loses nothing", async () => {
  let isDown = true;
  const sent: string[] = [];
  const tasks = mailTasks(async (to) => {
    if (isDown) throw new Error("the mail server does not answer");
    sent.push(to);
  });
  await using m = await simulate({ tasks: Object.values(tasks) });

  const job = await signUp(m.client, tasks, "ada@example.com");
  // Attempts after 0, 1, 3, 7 and 15 minutes.
  await m.clock.advance("10 min");
  assert.equal(m.failures.length, 4);
  isDown = false;
  await m.waitFor(job, "SUCCEEDED");
  assert.deepEqual(sent, ["ada@example.com"]);
});
