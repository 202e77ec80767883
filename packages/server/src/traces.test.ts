import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type Ref, task, type Worker, workflow } from "@mainspring/sdk";
import { startTestNode, type TestNode, WORKERS } from "./node.fixture.ts";

const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER = "00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b8-00";
const RETRIED = { retryPolicy: { backoff: "FIXED", initialDelayMs: 0, jitter: false } } as const;

/** Submits with a traceparent, at a whole server with the embedded store that exports no spans. */
describe("the trace of a submitter", () => {
  let node: TestNode;
  let client: Client;
  let worker: Worker;
  const failing = new Set<string>();
  /** Whether it fails once, and else its traceparent. */
  const look = task({
    name: "look",
    run: (fails: boolean | null, ctx) => {
      if (fails !== true || failing.has(ctx.executionId)) return ctx.traceparent;
      failing.add(ctx.executionId);
      throw new Error(`failed in ${ctx.traceparent}`);
    },
  });
  before(async () => {
    node = await startTestNode();
    client = node.client;
    worker = WORKERS["over gRPC"](node, { slots: 10, tasks: [look] });
    await worker.start();
  });
  after(async () => {
    await worker.stop();
    await node.stop();
  });
  const seenBy = async (executionId: string) => (await client.getExecution(executionId, { waitSec: 30 })).result;
  const send = async (method: string, path: string, body: object, traceparent: string) => {
    const headers = { "content-type": "application/json", traceparent };
    const response = await fetch(node.httpUrl + path, { method, headers, body: JSON.stringify(body) });
    assert.ok(response.ok, await response.clone().text());
    return (await response.json()) as { executionId: string; items: { executionId: string }[] };
  };
  const job = { target: { handler: "look" }, payload: false };

  it("reaches the handler of a job, over a retry by itself and one that a person asks for", async () => {
    const first = await look.submit(client, true, { traceparent: TRACEPARENT, ...RETRIED });
    assert.equal(await first.result(), TRACEPARENT);
    const { attempts } = await client.getExecution(first.executionId);
    assert.match(String(attempts[0]?.error?.message), new RegExp(TRACEPARENT));
    assert.equal(await seenBy(await client.retryExecution(first.executionId)), TRACEPARENT);
  });

  it("reaches every job of a batch, and one that is put by its name, and none without the header", async () => {
    const { items } = await send("POST", "/v1/jobs/batch", { jobs: [job, job] }, TRACEPARENT);
    assert.deepEqual(await Promise.all(items.map((item) => seenBy(item.executionId))), [TRACEPARENT, TRACEPARENT]);
    assert.equal(await seenBy((await send("PUT", "/v1/jobs/by-name/named", job, OTHER)).executionId), OTHER);
    assert.equal(await seenBy((await client.submit(job)).executionId), null);
  });

  it("is that of the request that replaced the job, and of the first one where the request changes nothing", async () => {
    const later = { ...job, runAt: "2100-01-01T00:00:00.000Z" };
    const put = (path: string, body: object, header: string) => send("PUT", path, body, header);
    const { executionId } = await put("/v1/jobs/by-name/later", later, TRACEPARENT);
    const same = (await put("/v1/jobs/by-name/later", later, OTHER)) as { execution?: string };
    assert.equal(same.execution, "UNCHANGED");
    await put("/v1/jobs/by-name/later", job, OTHER);
    assert.equal(await seenBy(executionId), OTHER);
  });

  it("is ignored where the header is not valid", async () => {
    for (const header of ["nonsense", TRACEPARENT.replace("00-", "ff-"), `${TRACEPARENT}, ${TRACEPARENT}`]) {
      assert.equal(await seenBy((await send("POST", "/v1/jobs", job, header)).executionId), null);
    }
  });

  it("reaches no execution of a job that recurs", async () => {
    const recurring = { ...job, name: "recurring", schedule: "@yearly" };
    await send("PUT", "/v1/jobs/by-name/recurring", recurring, TRACEPARENT);
    assert.equal(await seenBy(await client.jobs.trigger("recurring")), null);
  });

  it("reaches all nodes of a workflow, the nodes of its sub-workflows, and a retried run", async () => {
    const inner = workflow("inner", {}, (w) => {
      const deep = w.node("deep", look, false);
      return { deep, behind: w.node("behind", look, true, { ...RETRIED, after: [deep] }) };
    });
    const outer = workflow("outer", {}, (w, input: Ref<{ items: boolean[] }>) => {
      const root = w.node("root", look, false);
      const after = [root];
      const map = w.map("map", look, input.items, (item) => item, { after });
      return { root, inner: w.node("inner", inner, null, { after }), map };
    });
    const handle = await outer.submit(client, { items: [false, false] }, { traceparent: TRACEPARENT });
    const all = {
      root: TRACEPARENT,
      inner: { deep: TRACEPARENT, behind: TRACEPARENT },
      map: [TRACEPARENT, TRACEPARENT],
    };
    assert.deepEqual(await handle.result(), all);
    const again = await client.workflows.retry(handle.workflowId, { from: ["root"] });
    const run = await client.workflows.get(again.workflowId, { waitSec: 30 });
    assert.deepEqual(run.result, all);
  });
});
