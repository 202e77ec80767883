import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { JumpingRuntime } from "../../test/jumping-runtime.ts";
import { TinyApi } from "../../test/tiny-api.ts";
import { Client } from "./client.ts";

describe("the results of a map", () => {
  let api: TinyApi;
  before(async () => {
    api = await TinyApi.start();
  });
  after(() => api.stop());

  it("are read page by page until there are no more, over failures", async () => {
    const client = new Client({ url: api.url, apiKey: "", timeoutMs: 40_000, runtime: new JumpingRuntime() });
    const line = (item: number) => ({ item, executionId: `e${item}`, state: "SUCCEEDED", result: { n: item } });
    const page = (...items: number[]) => ({
      status: 200,
      headers: { "content-type": "application/x-ndjson" },
      body: items.map((item) => `${JSON.stringify(line(item))}\n`).join(""),
    });
    api.will(page(3, 4), "BREAK", { status: 503 }, page(5), page());
    const read: unknown[] = [];
    for await (const one of client.workflows.results<{ n: number }>("r 1", "each", { from: 3, limit: 2 }))
      read.push(one);
    assert.deepEqual(read, [3, 4, 5].map(line));
    assert.deepEqual(
      api.seen.map(({ path }) => path),
      [3, 5, 5, 5, 6].map((from) => `/v1/workflows/r%201/results?node=each&from=${from}&limit=2`),
    );
    assert.equal(api.seen[0]?.headers.accept, "application/x-ndjson, application/problem+json");
  });

  it("are asked for by the page, when the reader comes to it", async () => {
    const client = new Client({ url: api.url, apiKey: "", timeoutMs: 40_000, runtime: new JumpingRuntime() });
    const before = api.seen.length;
    const body = '{"item":0,"executionId":null,"state":null,"result":null}\n';
    api.will({ status: 200, headers: { "content-type": "application/x-ndjson" }, body });
    for await (const { state } of client.workflows.results("r1", "each")) {
      assert.equal(state, null);
      break;
    }
    assert.equal(api.seen.length, before + 1);
  });
});
