import assert from "node:assert/strict";
import { test } from "node:test";
import { simulate } from "@mainspring/testkit";
import { type Mail, mailTask, post } from "./outbox.ts";

const mailTo = (to: string, id = to): Mail => ({ id, to, text: "Your order is on its way." });

test("a mail that is posted twice is sent once", async () => {
  const sent: string[] = [];
  const mailing = mailTask(async ({ to }) => ({ status: sent.push(to) > 0 ? 200 : 500 }));
  await using m = await simulate({ tasks: [mailing] });

  const mails = [mailTo("ada@example.com"), mailTo("bob@example.com")];
  await post(m.client, mailing, mails);
  await post(m.client, mailing, mails);
  await m.clock.advance("1s");
  assert.deepEqual(sent.sort(), ["ada@example.com", "bob@example.com"]);

  // A program that crashed before it recorded the call repeats the call later.
  await m.clock.advance("1 day");
  await post(m.client, mailing, mails);
  await m.clock.advance("1s");
  assert.equal(sent.length, 2);
});

test("no domain gets more than two mails at once, and a slow one holds up nobody else", async () => {
  let under = 0;
  let most = 0;
  const sent: string[] = [];
  const slow = Promise.withResolvers<void>();
  const mailing = mailTask(async ({ to }) => {
    most = Math.max(most, ++under);
    if (to.endsWith("@slow.example")) await slow.promise;
    under -= 1;
    sent.push(to);
    return { status: 200 };
  });
  await using m = await simulate({ tasks: [mailing] });

  const crowd = ["a", "b", "c", "d"].map((name) => mailTo(`${name}@slow.example`));
  await post(m.client, mailing, [...crowd, mailTo("ada@example.com")]);
  await m.clock.advance("1s");
  assert.deepEqual(sent, ["ada@example.com"]);

  slow.resolve();
  await m.clock.advance("1s");
  assert.equal(sent.length, 5);
  assert.ok(most <= 3, `${most} were under way at once: two of one domain, one of the other`);
});

test("what the mail server says decides whether and when it is tried again", async () => {
  const sayings: { status: number; retryAt?: Date }[] = [
    { status: 503, retryAt: new Date("2026-03-01T01:00:00Z") },
    { status: 500 },
    { status: 200 },
  ];
  const mailing = mailTask(async () => sayings.shift() ?? { status: 404 });
  await using m = await simulate({ tasks: [mailing], startAt: "2026-03-01T00:00:00Z" });

  const [patient] = await post(m.client, mailing, [mailTo("ada@example.com")]);
  await m.clock.advance("59 min");
  assert.equal(sayings.length, 2);
  assert.ok(patient !== undefined);
  const { attempt } = await m.waitFor(patient.executionId, "SUCCEEDED");
  assert.equal(attempt, 3);

  const [hopeless] = await post(m.client, mailing, [mailTo("nobody@example.com")]);
  assert.ok(hopeless !== undefined);
  const { failures } = await m.waitFor(hopeless.executionId, "DEAD");
  assert.equal(failures, 1);
});
