import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { CreatedWebhook, Job, WebhookDelivery, WebhookInfo } from "@mainspring/sdk";
import { Receiver, SECRET } from "@mainspring/server/testing";
import { Commands } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

describe("webhooks on the command line", () => {
  let server: TestServer;
  let receiver: Receiver;
  before(async () => {
    const settings = { MAINSPRING_WEBHOOK_SECRET: SECRET, MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8" };
    [server, receiver] = await Promise.all([
      startServer({ ...settings, MAINSPRING_EVENTS: "webhook" }),
      new Receiver().start(),
    ]);
  });
  after(async () => {
    await server?.stop();
    await receiver?.stop();
  });

  const { run, done, json, jsonLines } = new Commands(() => server.clientEnv);

  it("are those of ends, with their deliveries, which are sent again", async () => {
    const submitted = await json<{ jobId: string; executionId: string }>("submit", "echo", "--on-finish", receiver.url);
    assert.deepEqual((await json<Job>("jobs", "get", submitted.jobId)).onFinish, { url: `${receiver.url}/` });
    assert.match(await done("jobs", "get", submitted.jobId), new RegExp(`on finish +${receiver.url}/`));
    await receiver.until((all) => all.length === 1);
    let [webhook] = await jsonLines<WebhookInfo>("webhooks", "list");
    while (webhook === undefined) [webhook] = await jsonLines<WebhookInfo>("webhooks", "list");
    const { webhookId } = webhook;
    assert.match(await done("webhooks", "list"), new RegExp(`${webhookId} +ON_FINISH +ACTIVE +${receiver.url} `));
    const [delivery] = await jsonLines<WebhookDelivery>("webhooks", "deliveries", webhookId, "--state", "delivered");
    assert.ok(delivery);
    assert.equal(delivery.executionId, submitted.executionId);
    assert.match(await done("webhooks", "deliveries", webhookId), /JobCompleted +\S+ +DELIVERED +1 /);
    const { deliveryId } = delivery;
    assert.match(await done("webhooks", "replay", webhookId, deliveryId), /^1 delivery is sent again/);
    await receiver.until((all) => all.length === 2);
    const none = ["--since", "2020-01-01T00:00:00Z", "--until", "2020-01-02T00:00:00Z"];
    assert.match(await done("webhooks", "replay", webhookId, ...none), /^0 deliveries are/);
    const wrong = await run(["webhooks", "replay", webhookId]);
    assert.deepEqual([wrong.code, /give either delivery ids, or --since/.test(wrong.stderr)], [2, true]);
  });

  it("are subscribed, disabled, enabled, rotated and removed", async () => {
    const made = ["--kind", "jobdeadlettered", "--kind", "JobCancelled", "--handler", "echo"];
    const created = await json<CreatedWebhook>("webhooks", "create", receiver.url, ...made);
    assert.deepEqual([created.kinds, created.handler], [["JobDeadLettered", "JobCancelled"], "echo"]);
    const { webhookId } = created;
    const shown = await done("webhooks", "get", webhookId);
    assert.match(shown, /events +JobDeadLettered, JobCancelled/);
    assert.equal(shown.includes("whsec"), false);
    assert.match(await done("webhooks", "disable", webhookId, "--reason", "moving"), /state +DISABLED\nreason +moving/);
    assert.match(await done("webhooks", "enable", webhookId), /state +ACTIVE/);
    assert.match(await done("webhooks", "rotate-secret", webhookId), /^secret whsec_\S+; the former one signs until 2/);
    assert.match(await done("webhooks", "remove", webhookId), /^removed: webhook/);
    assert.equal((await run(["webhooks", "get", webhookId])).code, 1);
    const wrong = await run(["webhooks", "create", "http://10.0.0.1/"]);
    assert.deepEqual([wrong.code, /url: must not lead to a private address/.test(wrong.stderr)], [1, true]);
  });
});
