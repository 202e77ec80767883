import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { Client, type SubmittedJob } from "@mainspring/sdk";
import { startServer, type TestServer } from "./testing/server.ts";

let server: TestServer;
before(async () => {
  server = await startServer();
});
after(() => server.stop());

it("concurrent submits of a program cost few requests, and each is taken, refused and repeated by itself", async () => {
  let requests = 0;
  const counting: typeof fetch = (...request) => {
    requests++;
    return fetch(...request);
  };
  const client = new Client({ url: server.httpUrl, fetch: counting });
  const submit = (n: number, key = `submit-${n}`) =>
    client.submit({ target: { handler: "echo" }, payload: n }, { idempotencyKey: key });
  const wrong = assert.rejects(client.submit({ target: { handler: "" } }), { code: "BAD_REQUEST", status: 400 });
  const first = await Promise.all(Array.from({ length: 250 }, (_, n) => submit(n)));
  await wrong;
  assert.ok(requests <= 3, `${requests} requests`);
  assert.equal(new Set(first.map(({ jobId }) => jobId)).size, 250);
  const again: SubmittedJob[] = [];
  // The submits run alone and together with another job; a repeat must find its answer in both cases.
  again.push(await submit(0), ...(await Promise.all([submit(1), submit(2)])));
  assert.deepEqual(again, first.slice(0, 3));
  const [reused, good] = [submit(1_000, "submit-3"), submit(1_001)];
  await assert.rejects(reused, { code: "KEY_REUSED" });
  const done = await client.waitForExecution((await good).executionId);
  assert.deepEqual([done.state, done.result], ["SUCCEEDED", 1_001]);
});
