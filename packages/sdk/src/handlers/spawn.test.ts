import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment, ExecutorScene } from "../../test/executor-scene.ts";
import type { FinishedReport } from "../session/work.ts";
import { task } from "../task.ts";
import type { TaskContext } from "./context.ts";
import { TerminalError } from "./retry-errors.ts";
import type { SpawnNode } from "./spawn.ts";

const page = task({ name: "page", pool: "web", timeoutSec: 9, run: ({ url }: { url: string }) => url.length });

/** Runs a handler to its end. @returns the report of its end */
async function ended(run: (ctx: TaskContext) => unknown, maySpawn = true): Promise<FinishedReport> {
  const handler = task({ name: "list", run: async (_: null, ctx) => run(ctx) });
  const scene = new ExecutorScene(1, [handler]);
  const more = { handler: "list", payload: "null", ...(maySpawn && { maySpawn: true as const }) };
  scene.apply({ assigns: [assignment("a", more)] });
  await scene.runtime.advance(10);
  const [report] = await scene.finished();
  assert.ok(report);
  return report;
}

describe("a handler that adds nodes", () => {
  it("reports those of all calls with its success", async () => {
    const { outcome, spawned } = await ended((ctx) => {
      ctx.spawn([{ name: "p1", task: page, payload: { url: "/1" }, priority: 9 }]);
      ctx.spawn([{ name: "sum", target: { handler: "sum", pool: "x" }, dependsOn: ["p1"], join: "ANY" }], {
        detached: true,
      });
      return 1;
    });
    assert.equal(outcome, "SUCCEEDED");
    assert.deepEqual(
      spawned?.map(({ name, definition, payload }) => [name, JSON.parse(definition), payload]),
      [
        ["p1", { target: { handler: "page", pool: "web" }, timeoutSec: 9, priority: 9 }, '{"url":"/1"}'],
        ["sum", { target: { handler: "sum", pool: "x" }, dependsOn: ["p1"], join: "ANY", detached: true }, ""],
      ],
    );
  });

  it("reports none with another end, and its report has no field then", async () => {
    const report = await ended((ctx) => {
      ctx.spawn([{ name: "p1", task: page }]);
      throw new TerminalError("no");
    });
    assert.deepEqual([report.outcome, Object.hasOwn(report, "spawned")], ["FAILED", false]);
    assert.equal(Object.hasOwn(await ended(() => 1), "spawned"), false);
  });

  it("fails for good if it runs no node of a workflow", async () => {
    const { outcome, error, advice } = await ended((ctx) => ctx.spawn([{ name: "p1", task: page }]), false);
    assert.deepEqual([outcome, error?.name, advice], ["FAILED", "InvalidSpawn", { kind: "NEVER" }]);
    assert.match(error?.message ?? "", /handler of a workflow's node/);
  });

  it("is told what is wrong with a node", async () => {
    const keyed = task({ name: "keyed", concurrencyKey: "k", concurrencyLimit: 1, run: () => 1 });
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    const wrong: [unknown, RegExp][] = [
      [{ name: "p1", task: page }, /takes a list/],
      [[{ name: "a b", task: page }], /name of 1 to 64/],
      [[{ name: "a" }], /either a task or a target/],
      [[{ name: "a", task: page, target: { handler: "x" } }], /either a task or a target/],
      [[{ name: "a", task: page, map: "$input" }], /no field map/],
      [
        [
          { name: "a", task: page },
          { name: "a", task: page },
        ],
        /node "a": the attempt adds another node of this name/,
      ],
      [[{ name: "a", task: keyed }], /concurrencyKey/],
      [[{ name: "a", task: "page" }], /node "a": its task is none that task\(\) returns/],
      [[null], /a node needs a name of 1 to 64/],
      [[{ name: "a", task: page, payload: cycle }], /JSON has no form/],
      [[{ name: "a", task: page, payload: "x".repeat(1024 * 1024) }], /at most 1048576 bytes.*addresses of large data/],
      [
        Array.from({ length: 1_001 }, (_, n) => ({ name: `n${n}`, task: page })),
        /at most 1000 nodes, and these are 1001/,
      ],
    ];
    for (const [nodes, message] of wrong) {
      const { error } = await ended((ctx) => ctx.spawn(nodes as SpawnNode[]));
      assert.match(`${error?.name} ${error?.message}`, message);
      assert.equal(error?.name, "InvalidSpawn");
    }
  });

  it("is told what is wrong with the options", async () => {
    for (const [options, message] of [
      [{ detach: true }, /there is no option detach; the option is detached/],
      [{ detached: "no" }, /detached is true or false/],
    ] as const) {
      const { error } = await ended((ctx) => ctx.spawn([{ name: "a", task: page }], options as object));
      assert.match(`${error?.name} ${error?.message}`, message);
    }
  });

  it("is told that its attempt has ended", async () => {
    const late: unknown[] = [];
    const { spawned } = await ended((ctx) => {
      void ctx.sleep(1).then(() => {
        try {
          ctx.spawn([{ name: "a", task: page }]);
        } catch (error) {
          late.push(error);
        }
      });
    });
    assert.equal(spawned, undefined);
    assert.match(
      String(late[0]),
      /InvalidSpawn: ctx.spawn: the attempt has ended: add nodes before the handler returns/,
    );
  });

  it("keeps the nodes of earlier calls if a later one is wrong", async () => {
    const { spawned } = await ended((ctx) => {
      ctx.spawn([{ name: "a", task: page }]);
      assert.throws(
        () =>
          ctx.spawn([
            { name: "b", task: page },
            { name: "a", task: page },
          ]),
        TerminalError,
      );
    });
    assert.deepEqual(
      spawned?.map(({ name }) => name),
      ["a"],
    );
  });
});
