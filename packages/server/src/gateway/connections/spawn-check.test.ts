import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SPAWN_BYTES_MAX, SPAWN_NODES_MAX } from "@mainspring/contract/limits";
import type { SpawnedNode } from "@mainspring/proto";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import { decodePart, placed } from "../../domain/workflow/spawned-parts.ts";
import { decodeTemplate, isTemplate, submittedText } from "../../ports/references/template.ts";
import type { Spawned } from "../../ports/step-messages.ts";
import { spawnedOf } from "./spawn-check.ts";

const TARGET = { handler: "work" };

function node(name: string, definition: object | string = {}, payload = ""): SpawnedNode {
  const text = typeof definition === "string" ? definition : JSON.stringify({ target: TARGET, ...definition });
  const typed = { $typeName: "mainspring.worker.v1.SpawnedNode" } as const;
  return { ...typed, name, definition: Buffer.from(text), payload: Buffer.from(payload) };
}

function taken(...nodes: SpawnedNode[]): Spawned {
  const spawned = spawnedOf(nodes, "own");
  assert.ok("graph" in spawned, JSON.stringify(spawned));
  return spawned;
}

function refused(...nodes: SpawnedNode[]): string {
  const spawned = spawnedOf(nodes, "own");
  assert.ok("message" in spawned);
  return `${spawned.name}: ${spawned.message}`;
}

describe("the nodes that a handler adds", () => {
  it("have the pool of their worker and the defaults of the server, unless they name others", () => {
    const rest = {
      priority: "HIGH",
      timeoutSec: 3,
      retryPolicy: { maxAttempts: 2 },
      allowFailure: true,
      detached: true,
    };
    const spawned = taken(
      node("a"),
      node(
        "b",
        { target: { handler: "other", pool: "gpu", requires: ["x", "a", "x"] }, ...rest, dependsOn: ["a"] },
        "[1]",
      ),
    );
    const { definitions, graph } = decodePart({ ...spawned, spawner: 0, first: 7 });
    const usual = { name: "a", pool: "own", handler: "work", requires: [], priority: 5, policy: DEFAULT_POLICY };
    assert.deepEqual(definitions[0], { ...usual, payloadBytes: 0 });
    const { policy, ...other } = definitions[1] ?? {};
    const named = { name: "b", pool: "gpu", handler: "other", requires: ["a", "x"], priority: 7, payloadBytes: 3 };
    assert.deepEqual(other, named);
    assert.deepEqual([policy?.timeoutMs, policy?.retry.maxAttempts], [3_000, 2]);
    assert.deepEqual([[...graph.parentCounts], graph.allowsFailure(1)], [[0, 1], true]);
    assert.deepEqual(
      spawned.payloads.map(({ node: of, payload }) => [of, Buffer.from(payload).toString()]),
      [[1, "[1]"]],
    );
  });

  it("refer to each other, to their spawner and to the input by the numbers of the run", () => {
    const text = '{"a":{"$from":"a","path":["x"]},"s":{"$from":"$spawner"},"i":{"$from":"$input"},"l":{"$literal":1}}';
    const [only] = taken(node("a"), node("b", { dependsOn: ["a"] }, text)).payloads;
    const stored = placed(only?.payload ?? new Uint8Array(), { spawner: 5, first: 40 });
    assert.ok(isTemplate(stored));
    const { edits } = decodeTemplate(stored);
    assert.deepEqual(
      edits.flatMap((edit) => ("from" in edit ? [[edit.from, edit.path]] : [])),
      [
        [40, ["x"]],
        [5, []],
        [-1, []],
      ],
    );
    assert.equal(Buffer.from(submittedText(stored)).toString(), text);
  });

  it("are refused with the fault of a node", () => {
    assert.match(refused(node("a b")), /^InvalidSpawn: .*"a b" needs a name/);
    assert.match(refused(node("a"), node("a")), /name of another node/);
    assert.match(refused(node("a", "{")), /no valid definition/);
    assert.match(refused(node("a", "[]")), /node "a": it must be object/);
    assert.match(refused(node("a", { target: {} })), /node "a": target.handler is missing/);
    assert.match(refused(node("a", { target: 1 })), /node "a": target must be object/);
    assert.match(refused(node("a", { join: "NONE" })), /node "a": join must be ALL or ANY/);
    assert.match(refused(node("a", { priority: "URGENT" })), /node "a": priority must be LOW or NORMAL or HIGH/);
    assert.match(refused(node("a", { priority: 10 })), /node "a": priority must be <= 9/);
    assert.match(
      refused(node("a", { retryPolicy: { attempts: 3 } })),
      /retryPolicy.attempts is no field here: the fields are .*maxAttempts/,
    );
    const when = { dependsOn: [{ node: "b", when: "SUCCESS" }] };
    assert.match(
      refused(node("a", when)),
      /node "a": dependsOn\[0\].when must match pattern .*SUCCEEDED\|FAILED\|FINISHED/,
    );
    assert.match(refused(node("a", { dependsOn: ["n/b"] })), /dependsOn\[0\] must match pattern .*: name of a node/);
    assert.match(refused(node("a", { dependsOn: [1] })), /node "a": dependsOn\[0\] must be string/);
    assert.match(
      refused(node("a", { map: "$input" })),
      /node "a": map is no field here: the fields are target, dependsOn/,
    );
    assert.match(refused(node("a", { compensate: { target: TARGET } })), /node "a"/);
    assert.match(refused(node("a", { retryPolicy: { initialDelayMs: 9, maxDelayMs: 8 } })), /maxDelayMs/);
    assert.match(refused(node("a", { dependsOn: ["b"] })), /depends on "b", which is no node that the attempt adds/);
    assert.match(refused(node("a", { dependsOn: ["b"] }), node("b", { dependsOn: ["a"] })), /a → b → a/);
    assert.match(refused(node("a", {}, "{")), /no valid payload/);
    assert.match(
      refused(node("a", {}, '{"$from":"b"}'), node("b")),
      /refers to "b", which need not end before it: add it to dependsOn/,
    );
    assert.match(
      refused(node("a", {}, '{"$from":"z"}')),
      /refers to "z", which is no node that the attempt adds: references take .*[$]spawner/,
    );
    assert.match(refused(node("a", {}, '{"$item":true}')), /\$item/);
    assert.match(refused(node("a", {}, '{"$results":"b"}'), node("b")), /\$results, and added nodes are no maps/);
    assert.match(refused(node("a", { concurrencyKey: "k" })), /node "a"/);
    assert.match(refused(node("a", { workflow: { nodes: [] } })), /node "a"/);
    assert.match(refused(node("a", { target: { handler: "$workflow" } })), /node "a": target.handler/);
    assert.match(refused(node("a", { dependsOn: Array.from({ length: 10_001 }, () => "b") })), /dependsOn/);
  });

  it("are refused if they are too many or too large", () => {
    const many = Array.from({ length: SPAWN_NODES_MAX + 1 }, (_, n) => node(`n${n}`));
    assert.match(refused(...many), /^SpawnTooLarge: .*1001 nodes/);
    assert.match(refused(node("a", {}, JSON.stringify("x".repeat(SPAWN_BYTES_MAX)))), /^SpawnTooLarge/);
    const half = Array.from({ length: 700 }, (_, n) => `n${n}`);
    const edges = half.map((name, n) => node(name, { dependsOn: half.slice(Math.max(0, n - 20), n) }));
    assert.match(refused(...edges), /dependencies: at most 10000/);
    assert.equal(taken(...many.slice(1)).payloads.length, 0);
  });
});
