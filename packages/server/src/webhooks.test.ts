import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type MainspringError, TerminalError, task } from "@mainspring/sdk";
import { Webhook } from "standardwebhooks";
import { startTestNode, type TestNode } from "./node.fixture.ts";
import { Receiver, SECRET } from "./webhooks.fixture.ts";

const SECRET_ALSO = `whsec_${Buffer.alloc(32, 9).toString("base64")}`;
const SETTINGS = {
  ...{ MAINSPRING_WEBHOOK_SECRET: SECRET, MAINSPRING_WEBHOOK_SECRET_ALSO: SECRET_ALSO },
  ...{ MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8", MAINSPRING_EVENTS: "webhook" },
};

describe("webhooks of a node", () => {
  let node: TestNode;
  let receiver: Receiver;
  before(async () => {
    [node, receiver] = await Promise.all([startTestNode(SETTINGS), new Receiver().start()]);
    const bad = task({
      name: "bad",
      run: () => {
        throw new TerminalError("never");
      },
    });
    await node.attachWorker({ tasks: [bad], slots: 4 }).start();
  });
  after(async () => {
    await node?.stop();
    await receiver?.stop();
  });

  const submit = async (handler: string, url: string, more: object = {}) =>
    await node.client.submit({ target: { handler }, onFinish: { url }, ...more });
  const ofExecution = async (executionId: string) => {
    await receiver.until((all) => all.some(({ data }) => data.executionId === executionId));
    return receiver.received.filter(({ data }) => data.executionId === executionId);
  };

  it("tell the end of a job, signed so that a receiver with either secret accepts it, and no other job", async () => {
    const plain = await node.client.submit({ target: { handler: "echo" } });
    await node.client.waitForExecution(plain.executionId);
    const { executionId, jobId } = await submit("echo", `${receiver.url}/done?job=1`);
    const [received] = await ofExecution(executionId);
    assert.ok(received);
    const { path, headers, body } = received;
    assert.equal(path, "/done?job=1");
    assert.equal(headers["content-type"], "application/json");
    assert.equal(headers["webhook-id"], `${executionId}/1/JobCompleted`);
    for (const secret of [SECRET, SECRET_ALSO])
      assert.deepEqual(new Webhook(secret).verify(body, headers as Record<string, string>), JSON.parse(body));
    const other = new Webhook(`whsec_${Buffer.alloc(32, 1).toString("base64")}`);
    assert.throws(() => other.verify(body, headers as Record<string, string>), /No matching signature/);
    assert.throws(() => new Webhook(SECRET).verify(`${body} `, headers as Record<string, string>));
    assert.deepEqual([received.type, received.data.state], ["JobCompleted", "SUCCEEDED"]);
    assert.deepEqual((await node.client.getJob(jobId)).onFinish, { url: `${receiver.url}/done?job=1` });
    assert.equal((await node.client.getJob(plain.jobId)).onFinish, null);
    assert.equal(
      receiver.received.some(({ data }) => data.executionId === plain.executionId),
      false,
    );
  });

  it("tell ends of every kind, once each", async () => {
    const dead = await submit("bad", receiver.url);
    const cancelled = await submit("echo", receiver.url, { delayMs: 3_600_000 });
    await node.client.cancelExecution(cancelled.executionId);
    const skipped = await submit("nobody", receiver.url, { delayMs: 1, startBefore: "2020-01-01T00:00:00Z" });
    const flow = await node.client.workflows.submit({
      name: "told",
      onFinish: { url: receiver.url },
      nodes: [{ name: "a", target: { handler: "echo" } }],
    });
    assert.ok("workflowId" in flow);
    const told = [];
    for (const id of [dead.executionId, cancelled.executionId, skipped.executionId, flow.workflowId])
      told.push((await ofExecution(id)).map(({ type, data }) => [type, data.state]));
    assert.deepEqual(told, [
      [["JobDeadLettered", "DEAD"]],
      [["JobCancelled", "CANCELLED"]],
      [["JobSkipped", "SKIPPED"]],
      [["JobCompleted", "SUCCEEDED"]],
    ]);
  });

  it("tell each end of a recurring job", async () => {
    const recurring = { target: { handler: "echo" }, everySec: 3_600, onFinish: { url: receiver.url } };
    const { jobId } = await node.client.submit(recurring);
    const executionId = await node.client.jobs.trigger(jobId);
    const [received] = await ofExecution(executionId);
    assert.equal(received?.type, "JobCompleted");
    await node.client.deleteJob(jobId);
  });

  it("wait for nobody who hangs, and are listed and replayed", async () => {
    const hanging = await new Receiver().start();
    hanging.answer = () => undefined;
    try {
      const count = 30;
      for (let i = 0; i < count; i++) await submit("echo", hanging.url);
      await hanging.until((all) => all.length === 8);
      const { executionId } = await submit("echo", `${receiver.url}/other`);
      const [received] = await ofExecution(executionId);
      assert.ok(received);
      assert.equal(hanging.received.length, 8);
    } finally {
      await hanging.stop();
    }
    const failing = await webhookAt(hanging.url);
    assert.match(failing.lastError ?? "", /no answer/);
    const shown = await webhookAt(receiver.url);
    assert.deepEqual([shown.kind, shown.state, shown.failingSince], ["ON_FINISH", "ACTIVE", null]);
    const [last] = await answered(shown.webhookId);
    assert.ok(last);
    assert.deepEqual([last.state, last.tries, last.status], ["DELIVERED", 1, 204]);
    const before = receiver.received.filter(({ data }) => data.executionId === last.executionId).length;
    assert.equal(await node.client.webhooks.replay(shown.webhookId, { deliveryIds: [last.deliveryId] }), 1);
    await receiver.until(
      (all) => all.filter(({ data }) => data.executionId === last.executionId).length === before + 1,
    );
    const ids = receiver.received.filter(({ data }) => data.executionId === last.executionId);
    assert.equal(new Set(ids.map(({ headers }) => headers["webhook-id"])).size, 1);
  });

  it("are tried again after a failure, and wait while a webhook is disabled", async () => {
    const second = await new Receiver().start();
    second.answer = (response) => response.writeHead(503).end("later\nplease");
    try {
      const { executionId } = await submit("echo", second.url);
      await second.until((all) => all.length === 1);
      let webhook = await webhookAt(second.url);
      assert.equal(webhook.lastError, "it answered 503: later please");
      await node.client.webhooks.disable(webhook.webhookId, { reason: "moving house" });
      await assert.rejects(node.client.webhooks.replay(webhook.webhookId, { since: new Date(0) }), (error) => {
        return (error as MainspringError).code === "CONFLICT" && /moving house/.test((error as Error).message);
      });
      second.answer = (response) => response.writeHead(200).end();
      webhook = await node.client.webhooks.enable(webhook.webhookId);
      assert.deepEqual([webhook.state, webhook.failingSince], ["ACTIVE", null]);
      await second.until((all) => all.length === 2);
      assert.deepEqual([...new Set(second.received.map(({ data }) => data.executionId))], [executionId]);
      // The answer to a try that is kept later makes the webhook anew.
      await answered(webhook.webhookId);
      await node.client.webhooks.remove(webhook.webhookId);
      await assert.rejects(node.client.webhooks.get(webhook.webhookId), { code: "NOT_FOUND" });
    } finally {
      await second.stop();
    }
  });

  it("follow no redirect", async () => {
    const elsewhere = await new Receiver().start();
    elsewhere.answer = (response) => response.writeHead(302, { location: `${receiver.url}/redirected` }).end();
    try {
      await submit("echo", elsewhere.url);
      await elsewhere.until((all) => all.length === 1);
      const webhook = await webhookAt(elsewhere.url);
      assert.match(webhook.lastError ?? "", /302 \(redirects are not followed\)/);
      assert.equal(
        receiver.received.some(({ path }) => path === "/redirected"),
        false,
      );
    } finally {
      await elsewhere.stop();
    }
  });

  it("of a subscription have the events that its filter chooses, with a secret of its own", async () => {
    const own = await new Receiver().start();
    try {
      const filter = { kinds: ["JobCreated", "JobCompleted"] as const, handler: "echo" };
      const created = await node.client.webhooks.create({ url: own.url, ...filter });
      const { executionId } = await node.client.submit({ target: { handler: "echo" } });
      await node.client.submit({ target: { handler: "bad" } });
      await own.until((all) => all.filter(({ data }) => data.executionId === executionId).length === 2);
      assert.deepEqual([...new Set(own.received.map(({ data }) => data.handler))], ["echo"]);
      const [received] = own.received;
      assert.ok(received);
      new Webhook(created.secret).verify(received.body, received.headers as Record<string, string>);
      const { secret } = await node.client.webhooks.rotateSecret(created.webhookId);
      const again = await node.client.submit({ target: { handler: "echo" } });
      await own.until((all) => all.some(({ data }) => data.executionId === again.executionId));
      const after = own.received.find(({ data }) => data.executionId === again.executionId);
      for (const one of [secret, created.secret])
        new Webhook(one).verify(after?.body ?? "", after?.headers as Record<string, string>);
      assert.equal(JSON.stringify(await node.client.webhooks.get(created.webhookId)).includes("whsec"), false);
      await node.client.webhooks.remove(created.webhookId);
    } finally {
      await own.stop();
    }
  });

  it("are refused at the submit where they can never arrive", async () => {
    for (const [url, message] of [
      ["ftp://hooks.example/", /onFinish.url: must be an http or https URL/],
      ["nonsense", /must be an http or https URL/],
      ["https://user:pass@hooks.example/", /must not hold a user or password/],
      ["http://10.0.0.1/", /must not lead to a private address/],
      ["http://[::1]/", /must not lead to a loopback address/],
      ["http://169.254.169.254/latest", /must not lead to a linkLocal address/],
    ] as const) {
      await assert.rejects(submit("echo", url), message);
      await assert.rejects(
        node.client.jobs.upsert("wrong", { target: { handler: "echo" }, onFinish: { url } }),
        message,
      );
      await assert.rejects(node.client.webhooks.create({ url }), /url: must/);
    }
  });

  async function webhookAt(url: string) {
    for (;;) {
      for await (const webhook of node.client.webhooks.list())
        if (webhook.url === url && (webhook.lastError ?? webhook.lastDeliveredAt) !== null) return webhook;
    }
  }

  /** Deliveries of a webhook, once the server has kept the answers to all of them. */
  async function answered(webhookId: string) {
    for (;;) {
      const all = [];
      for await (const delivery of node.client.webhooks.deliveries(webhookId)) all.push(delivery);
      if (all.every(({ state }) => state === "DELIVERED")) return all;
    }
  }
});

describe("a node without a secret and without events", () => {
  it("refuses onFinish and subscriptions, and says what to set", async () => {
    const node = await startTestNode();
    try {
      const { client } = node;
      const onFinish = { url: "https://hooks.example/" };
      await assert.rejects(client.submit({ target: { handler: "echo" }, onFinish }), /set MAINSPRING_WEBHOOK_SECRET/);
      await assert.rejects(
        client.workflows.submit({ name: "w", onFinish, nodes: [{ name: "a", target: { handler: "echo" } }] }),
        /set MAINSPRING_WEBHOOK_SECRET/,
      );
      await assert.rejects(client.webhooks.create(onFinish), /set MAINSPRING_EVENTS=webhook/);
    } finally {
      await node.stop();
    }
  });
});
