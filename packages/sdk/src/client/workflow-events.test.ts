import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { JumpingRuntime } from "../../test/jumping-runtime.ts";
import { TinyApi } from "../../test/tiny-api.ts";
import { Client } from "./client.ts";

const STREAM = { "content-type": "text/event-stream" };
const event = (type: string, id: string, data: object) =>
  `event: ${type}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`;
const run = (id: string, state: string) => event("workflow", id, { workflowId: "r1", state });
const node = (id: string, name: string, state: string, attempt = 1) => event("node", id, { name, state, attempt });

const undone = (id: string, name: string, state: string) =>
  event("node", id, { name, state: "RUNNING", attempt: 2, compensation: { state, attempt: 1 } });

describe("following a run of a workflow", () => {
  let api: TinyApi;
  before(async () => {
    api = await TinyApi.start();
  });
  after(() => api.stop());

  it("gives nodes and the run until it is final, each change once over streams that break", async () => {
    const client = new Client({ url: api.url, apiKey: "", timeoutMs: 40_000, runtime: new JumpingRuntime() });
    const first = [
      run("R.R.0", "RUNNING"),
      node("R.R.0", "a", "RUNNING"),
      node("R.R.1", "a", "SUCCEEDED"),
      event("later", "x", {}),
    ];
    const second = [
      node("R.R.1", "a", "SUCCEEDED"),
      node("R.R.2", "b", "RUNNING"),
      node("R.R.3", "b", "RUNNING", 2),
      undone("R.R.3", "b", "RUNNING"),
      undone("R.R.3", "b", "SUCCEEDED"),
      undone("R.R.3", "b", "SUCCEEDED"),
      run("S.R.3", "SUCCEEDED"),
      node("S.R.3", "b", "DEAD"),
    ];
    for (const events of [first, second]) api.will({ status: 200, headers: STREAM, body: events.join("") });
    const told: unknown[] = [];
    for await (const one of client.workflows.follow("r 1"))
      told.push(
        one.type === "node" ? [one.id, one.node.name, one.node.state, one.node.attempt] : [one.id, one.workflow.state],
      );
    assert.deepEqual(told, [
      ["R.R.0", "RUNNING"],
      ["R.R.0", "a", "RUNNING", 1],
      ["R.R.1", "a", "SUCCEEDED", 1],
      ["R.R.2", "b", "RUNNING", 1],
      ["R.R.3", "b", "RUNNING", 2],
      ["R.R.3", "b", "RUNNING", 2],
      ["R.R.3", "b", "RUNNING", 2],
      ["S.R.3", "SUCCEEDED"],
    ]);
    assert.deepEqual(
      api.seen.map(({ path, headers }) => [path, headers["last-event-id"]]),
      [undefined, "R.R.1"].map((id) => ["/v1/workflows/r%201/events", id]),
    );
  });
});
