import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { decodeTemplate, isTemplate } from "../../ports/references/template.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };

describe("references of workflows over HTTP", () => {
  let stage: WorkflowStage;
  before(async () => {
    stage = await WorkflowStage.open();
  });
  after(() => stage.close());

  const node = (name: string, payload: unknown, ...dependsOn: string[]) => ({ name, target, payload, dependsOn });
  const chain = (payload: unknown) => [node("a", 1), node("b", 2, "a"), node("c", payload, "b"), node("d", 4)];

  it("are kept as submitted, and the store gets them by numbers of nodes", async () => {
    const payload = '{ "x": [{"$from": "$input", "path": ["day"]}], "y": {"$literal": {"$from": 1}} }';
    const text = `{"input": {"day" : 1.0}, "output": [{"$from":"a"}], "nodes": [{"name":"a","target":{"handler":"echo"},"payload":${payload}}]}`;
    const answer = await stage.submit(text);
    assert.equal(answer.statusCode, 201, answer.body);
    const { workflowId, executionIds } = answer.json();
    const shown = (await stage.get(`/v1/executions/${executionIds.a}`)).body;
    assert.ok(shown.includes(`"payload":${payload}`), shown);
    const run = (await stage.get(`/v1/workflows/${workflowId}`)).body;
    assert.ok(run.includes('"input":{"day" : 1.0},"result":null'), run);
    const [stored] = [...(await stage.store.payloads([executionIds.a])).values()];
    assert.ok(stored !== undefined && isTemplate(stored));
    const { edits } = decodeTemplate(stored);
    assert.deepEqual(
      edits.map((edit) => ("from" in edit ? [edit.from, edit.path] : [])),
      [[-1, ["day"]], []],
    );
    const [loaded] = await stage.store.runs.load([workflowId]);
    assert.ok(loaded?.stored?.output && isTemplate(loaded.stored.output));
    await stage.ends(workflowId, 0, { result: Buffer.from("1") });
    await stage.runEnds(workflowId, { result: Buffer.from("[1.0]") });
    assert.ok((await stage.get(`/v1/workflows/${workflowId}`)).body.includes('"result":[1.0]'));
  });

  it("may go to every ancestor, and the output to every node", async () => {
    const references = ["a", "b"].map((name) => ({ $from: name, path: ["x", 0] }));
    const output = ["a", "b", "c", "d"].map((name) => ({ $from: name }));
    const answer = await stage.submit({ nodes: chain(references), output });
    assert.equal(answer.statusCode, 201, answer.body);
  });

  it("without which a payload is stored as it was submitted", async () => {
    const { executionIds } = (await stage.submit({ nodes: [node("a", { a$: "$from" })] })).json();
    const [stored] = [...(await stage.store.payloads([executionIds.a])).values()];
    assert.equal(Buffer.from(stored ?? []).toString(), '{"a$":"$from"}');
  });

  const refusals: [what: string, workflow: object, field: string, message: RegExp][] = [
    [
      "a node that runs beside it",
      { nodes: chain({ $from: "d" }) },
      "nodes[2].payload",
      /"c": refers to "d", which need not/,
    ],
    [
      "a later node",
      { nodes: [node("a", { $from: "b" }), node("b", 1, "a")] },
      "nodes[0].payload",
      /"a": refers to "b"/,
    ],
    ["itself", { nodes: chain([{ $from: "c" }]) }, "nodes[2].payload", /"c": refers to "c"/],
    ["an unknown node", { nodes: chain([{ $from: "z" }]) }, "nodes[2].payload", /"c": refers to "z", which is no node/],
    [
      "an input that is not there",
      { nodes: chain({ $from: "$input" }) },
      "nodes[2].payload",
      /the workflow has no input/,
    ],
    [
      "items of a map",
      { nodes: chain({ i: { $item: true } }) },
      "nodes[2].payload",
      /"c": has \$item or \$index, and the node has no map/,
    ],
    ["something else", { nodes: chain({ $from: "a", when: 1 }) }, "nodes[2].payload", /"c": .* key when/],
    [
      "an unknown node in the output",
      { nodes: chain(1), output: { x: { $from: "z" } } },
      "output",
      /"z", which is no node/,
    ],
    ["something else in the output", { nodes: chain(1), output: { $x: 1 } }, "output", /\$x/],
  ];
  for (const [what, workflow, field, message] of refusals) {
    it(`are refused to ${what}, and nothing is written`, async () => {
      const answer = await stage.submit({ name: "refused", ...workflow });
      assert.equal(answer.statusCode, 400, answer.body);
      const [error] = answer.json().errors;
      assert.equal(error.field, field);
      assert.match(error.message, message);
      assert.deepEqual((await stage.read("/v1/workflows?name=refused")).items, []);
    });
  }

  it("need an input of at most 1 MiB, and an output of at most 64 KiB", async () => {
    const nodes = chain(1);
    for (const [field, size] of [
      ["input", 1024 * 1024],
      ["output", 64 * 1024],
    ] as const) {
      await stage.submitted({ nodes, [field]: "x".repeat(size - 2) });
      const answer = await stage.submit({ nodes, [field]: "x".repeat(size - 1) });
      assert.deepEqual([answer.statusCode, answer.json().errors[0].field], [413, field]);
    }
  });

  it("are at most 100,000 in a workflow", async () => {
    const many = Array.from({ length: 1_000 }, () => ({ $literal: 1 }));
    const nodes = Array.from({ length: 101 }, (_, index) =>
      node(`n${index}`, index === 100 ? [{ $literal: 1 }] : many),
    );
    assert.equal((await stage.submit({ nodes: nodes.slice(0, 100) })).statusCode, 201);
    const answer = await stage.submit({ nodes });
    assert.deepEqual([answer.statusCode, answer.json().errors[0].field], [400, "nodes[100].payload"]);
  });
});
