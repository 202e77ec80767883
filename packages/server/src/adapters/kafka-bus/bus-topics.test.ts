import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Assignment } from "../../ports/messages.ts";
import { BusTopics, partitionOf } from "./bus-topics.ts";

describe("the topics of the bus", () => {
  const assign = (workerId: string) => ({ workerId }) as Assignment;
  const assigns = ["w1", "w2", "w3"].map(assign);
  const pools: Record<string, string> = { w1: "default", w2: "slow jobs", w3: "default" };
  const poolOf = (workerId: string) => pools[workerId] ?? null;

  it("are one for assignments, and one for starts and results; all other messages have none", () => {
    const topics = new BusTopics("ms.", "one");
    const message = { kind: "ASSIGN" as const, assigns };
    assert.deepEqual(topics.of("gateway", message, poolOf), [
      { topics: ["ms.job-assignments"], letter: { role: "gateway", message } },
    ]);
    const started = { kind: "STARTED" as const, tokens: [] };
    assert.deepEqual(
      topics.of("scheduler", started, poolOf)?.map((one) => one.topics),
      [["ms.job-results"]],
    );
    assert.equal(topics.of("gateway", { kind: "ACK", workerId: "w1", tokens: [] }, poolOf), null);
  });

  it("can be one for each pool, with the common one for workers that are not known", () => {
    const topics = new BusTopics("ms.", "pool");
    const all = topics.of("gateway", { kind: "ASSIGN", assigns: [...assigns, assign("w4")] }, poolOf) ?? [];
    assert.deepEqual(
      all.map((one) => one.topics),
      [
        ["ms.assignments.default", "ms.job-assignments"],
        ["ms.assignments.slow_20_jobs", "ms.job-assignments"],
        ["ms.job-assignments"],
      ],
    );
    assert.deepEqual(
      all.map(({ letter: { message } }) => (message.kind === "ASSIGN" ? message.assigns.map((a) => a.workerId) : [])),
      [["w1", "w3"], ["w2"], ["w4"]],
    );
  });

  it("have names that Kafka takes, different ones for different pools", () => {
    const topics = new BusTopics("p".repeat(100), "pool");
    const names = ["a", "A", "a.b", "a_b", "a_2e_b", "ä", "😀", ".", "x".repeat(120), "x".repeat(121), "é".repeat(256)];
    const all = names.map((pool) => topics.ofPool(pool));
    assert.equal(new Set(all).size, names.length);
    for (const name of all) assert.match(name, /^[A-Za-z0-9._-]{1,249}$/);
  });

  it("are read by a node in one partition, and by many nodes in all of them", () => {
    const used = new Set(Array.from({ length: 200 }, (_, n) => partitionOf(`node-${n}`, 12)));
    assert.deepEqual(
      [...used].sort((a, b) => a - b),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11],
    );
  });
});
