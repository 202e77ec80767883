import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Ref, TerminalError, task, workflow } from "@mainspring/sdk";
import { simulate } from "./index.ts";

interface Crawl {
  pages: number;
  isDown?: boolean;
}

let isDown = false;
const began: string[] = [];

const fetchPage = task({
  name: "fetch",
  run: async ({ url, site }: { url: string; site: unknown }) => {
    began.push(url);
    if (isDown) throw new TerminalError("the site is down");
    return { url, site };
  },
});
const count = task({
  name: "count",
  run: async ({ first, input }: { first: { url: string }; input: Crawl }, ctx) => {
    ctx.spawn([{ name: "mail", task: note, payload: { text: `${first.url} of ${input.pages}` } }], { detached: true });
    return 1;
  },
});
const note = task({ name: "note", run: async ({ text }: { text: string }) => text });
const list = task({
  name: "list",
  run: async ({ pages }: Crawl, ctx) => {
    if (ctx.attempt === 1) {
      ctx.spawn([{ name: "lost", task: note, payload: { text: "never" } }]);
      throw new Error("once");
    }
    const urls = Array.from({ length: pages }, (_, n) => `/${n}`);
    ctx.spawn(
      urls.map((url, n) => ({
        name: `page-${n}`,
        task: fetchPage,
        payload: { url, site: { $from: "$spawner", path: ["site"] } },
      })),
    );
    const first = { $from: "page-0" };
    const payload = { first, input: { $from: "$input" } };
    ctx.spawn([{ name: "count", task: count, payload, dependsOn: urls.map((_, n) => `page-${n}`) }]);
    return { site: "example" };
  },
});
const crawl = workflow("crawl", {}, (w, input: Ref<Crawl>) => {
  const listed = w.node("list", list, { pages: input.pages });
  return w.node("done", note, { text: "done" }, { after: [listed] });
});

describe("nodes that a handler adds in a simulation", () => {
  it("run before the nodes after it, with their payloads, and are shown", async () => {
    await using m = await simulate({ workflows: [crawl], tasks: [fetchPage, count, note] });
    isDown = false;
    const run = await crawl.submit(m.client, { pages: 2 });
    assert.equal(await run.result(), "done");
    await m.waitFor((await m.node(run, "list/count/mail")).executionId as string);
    assert.deepEqual(await m.states(run), {
      list: "SUCCEEDED",
      done: "SUCCEEDED",
      "list/page-0": "SUCCEEDED",
      "list/page-1": "SUCCEEDED",
      "list/count": "SUCCEEDED",
      "list/count/mail": "SUCCEEDED",
    });
    assert.deepEqual((await m.node(run, "list/page-1")).result, { url: "/1", site: "example" });
    assert.equal((await m.node(run, "list/count/mail")).result, "/0 of 2");
  });

  it("are nodes of the sub-workflow whose handler adds them", async () => {
    await using m = await simulate({ workflows: [crawl], tasks: [fetchPage, count, note] });
    isDown = false;
    const outer = workflow("outer", {}, (w, input: Ref<Crawl>) => {
      const twice = [1, 2].map((n) => w.node(`crawl-${n}`, crawl, { pages: input.pages }));
      return w.node("last", note, { text: "over" }, { after: twice });
    });
    const run = await outer.submit(m.client, { pages: 1 });
    assert.equal(await run.result(), "over");
    const children: string[] = [];
    for await (const { name, childWorkflowId } of m.client.workflows.nodes(run.workflowId))
      if (name.startsWith("crawl")) children.push(String(childWorkflowId));
    assert.equal(new Set(children).size, 2);
    for (const child of children) {
      const states = new Map<string, string>();
      const ids = new Map<string, string>();
      for await (const { name, state, executionId } of m.client.workflows.nodes(child)) {
        states.set(name, state);
        ids.set(name, String(executionId));
      }
      await m.waitFor(String(ids.get("list/count/mail")));
      assert.deepEqual([...states.keys()], ["list", "done", "list/page-0", "list/count", "list/count/mail"]);
      const { result } = await m.client.getExecution(String(ids.get("list/count/mail")));
      assert.equal(result, "/0 of 1", "the input is that of the sub-workflow");
    }
  });

  it("fail the run, and a retry repeats only those that have failed", async () => {
    await using m = await simulate({ workflows: [crawl], tasks: [fetchPage, count, note] });
    isDown = true;
    const run = await crawl.submit(m.client, { pages: 1 });
    await m.waitFor(run, "DEAD");
    const { state, reason } = await run.get();
    assert.deepEqual([state, reason], ["DEAD", "NODE_DEAD"]);
    assert.equal((await m.states(run)).done, "SKIPPED");
    isDown = false;
    began.length = 0;
    const retried = await run.retry();
    await m.waitFor(retried);
    const states = await m.states(retried);
    assert.deepEqual([states["list"], states["done"], states["list/count"]], ["SUCCEEDED", "SUCCEEDED", "SUCCEEDED"]);
    assert.deepEqual(began, ["/0"]);
    assert.equal((await m.node(retried, "list")).executionId, null, "the earlier run has its result");
  });
});
