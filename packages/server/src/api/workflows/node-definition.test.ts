import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { PolicyBook } from "../handlers/kept-policies.ts";
import { type NodeSpace, nodeDefinition } from "./node-definition.ts";

const NOW = Date.UTC(2030, 0, 1);

function book(policies: object, isHome = false): NodeSpace {
  const kept = { pool: "mail", handler: "send", policies: JSON.stringify(policies), isHome };
  const known = new PolicyBook([kept as ConstructorParameters<typeof PolicyBook>[0][number]]);
  return { tenant: "default", poolOf: (_tenant, name) => name, book: known };
}

function defined(...given: Parameters<typeof nodeDefinition>) {
  const made = nodeDefinition(...given);
  assert.ok(!Array.isArray(made), JSON.stringify(made));
  return made;
}

describe("the definition of a workflow's node", () => {
  const node = { name: "a", target: { handler: "send" } };

  it("has its own values, then the workflow's defaults, then the policies of its handler's task", () => {
    const declared = book({ timeoutSec: 1, priority: 1, maxLost: 7 }, true);
    const { pool, priority, policy } = defined(
      { ...node, timeoutSec: 3 },
      { timeoutSec: 2, priority: 2 },
      declared,
      NOW,
    );
    assert.deepEqual([pool, priority, policy.timeoutMs, policy.maxLost], ["mail", 2, 3_000, 7]);
  });

  it("is in the pool of the workflow's defaults before that of the task", () => {
    assert.equal(defined(node, { pool: "own" }, book({}, true), NOW).pool, "own");
  });

  it("has every dependency with its condition", () => {
    const { dependsOn } = defined({ ...node, dependsOn: ["b", { node: "c", when: "FAILED" }] }, {}, book({}), NOW);
    assert.deepEqual(dependsOn, [
      { node: "b", when: "SUCCEEDED" },
      { node: "c", when: "FAILED" },
    ]);
  });

  it("has its own concurrency key, or the one that the task of its handler declares for all payloads", () => {
    const declared = book({ concurrencyKey: "smtp", concurrencyLimit: 3 }, true);
    const keyOf = (...given: Parameters<typeof nodeDefinition>) => {
      const { concurrencyKey, concurrencyLimit } = defined(...given);
      return [concurrencyKey, concurrencyLimit];
    };
    assert.deepEqual(keyOf(node, {}, declared, NOW), ["smtp", 3]);
    assert.deepEqual(keyOf({ ...node, concurrencyKey: "own" }, {}, declared, NOW), ["own", 3]);
    assert.deepEqual(keyOf({ ...node, concurrencyKey: "own", concurrencyLimit: 2 }, {}, book({}), NOW), ["own", 2]);
    assert.deepEqual(keyOf(node, {}, book({}), NOW), [undefined, undefined]);
  });

  it("is refused while the task of its handler declares a key that depends on the payload, unless it has its own", () => {
    const declared = book({ concurrencyKey: "smtp-{payload.host}" }, true);
    const faults = nodeDefinition(node, {}, declared, NOW);
    assert.ok(Array.isArray(faults));
    assert.equal(faults[0]?.field, "concurrencyKey");
    assert.match(faults[0]?.message ?? "", /"smtp-\{payload.host\}"/);
    assert.equal(defined({ ...node, concurrencyKey: "own" }, {}, declared, NOW).concurrencyKey, "own");
  });

  it("is refused with a limit for a key that it does not have", () => {
    const faults = nodeDefinition({ ...node, concurrencyLimit: 2 }, {}, book({}), NOW);
    assert.ok(Array.isArray(faults));
    assert.equal(faults[0]?.field, "concurrencyLimit");
  });
});
