import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { MainspringError } from "../errors.ts";
import { task } from "../task.ts";
import type { Ref } from "./ref.ts";
import { workflow } from "./workflow.ts";
import type { WorkflowBuilder } from "./workflow-builder.ts";

interface Rows {
  rows: { id: number; at: Date }[];
  files: string[];
  note?: string;
}
const extract = task({ name: "extract", run: (_payload: { day: string }): Rows => ({ rows: [], files: [] }) });
const check = task({ name: "check", run: (_payload: { rows: unknown[]; strict?: boolean }) => ({ bad: 0 }) });
const load = task({
  name: "load",
  pool: "db",
  run: (_payload: { parts: string[]; bad: number | null }) => ({ loaded: 1 }),
});
const page = task({ name: "page", run: (_payload: null) => undefined });

/** Accepts `{ day }`, and adds a default. */
const daySchema: StandardSchemaV1<{ day?: string }, { day: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (given) => {
      const { day = "today" } = given as { day?: unknown };
      return typeof day === "string" ? { value: { day } } : { issues: [{ message: "must be a text", path: ["day"] }] };
    },
  },
};

function refused(build: (w: WorkflowBuilder, input: Ref<{ day: string }>) => unknown): string {
  try {
    workflow("w", {}, build);
  } catch (error) {
    assert.ok(error instanceof MainspringError, String(error));
    return error.message;
  }
  return "accepted";
}

describe("a workflow", () => {
  const etl = workflow(
    "nightly-etl",
    { input: daySchema, onFailure: "CONTINUE", defaults: { timeoutSec: 60 }, labels: { team: "data" } },
    (w, input) => {
      const rows = w.node("extract", extract, { day: input.day });
      const checked = w.node("check", check, { rows: rows.rows }, { branches: ["good", "bad"] });
      const loaded = w.node(
        "load",
        load,
        { parts: [rows.files[0] ?? "", "fixed"], bad: checked.bad },
        { after: [w.branch(checked, "good")], priority: "HIGH", retryPolicy: { maxAttempts: 2 } },
      );
      w.node("alarm", page, null, { after: [w.failed(checked), w.failed(loaded)], join: "ANY", allowFailure: true });
      return { loaded: w.orNull(loaded.loaded), day: input.day, first: w.at(rows.rows, 0).id, kind: "etl" };
    },
  );

  it("is the JSON that the server takes, in which references make dependencies", () => {
    assert.deepEqual(etl.definition, {
      name: "nightly-etl",
      onFailure: "CONTINUE",
      defaults: { timeoutSec: 60 },
      labels: { team: "data" },
      nodes: [
        { name: "extract", target: { handler: "extract" }, payload: { day: { $from: "$input", path: ["day"] } } },
        {
          name: "check",
          target: { handler: "check" },
          payload: { rows: { $from: "extract", path: ["rows"] } },
          dependsOn: ["extract"],
        },
        {
          name: "load",
          target: { handler: "load", pool: "db" },
          payload: {
            parts: [{ $from: "extract", path: ["files", 0] }, "fixed"],
            bad: { $from: "check", path: ["bad"] },
          },
          dependsOn: [{ node: "check", when: "BRANCH:good" }, "extract"],
          retryPolicy: { maxAttempts: 2 },
          priority: "HIGH",
        },
        {
          name: "alarm",
          target: { handler: "page" },
          payload: null,
          dependsOn: [
            { node: "check", when: "FAILED" },
            { node: "load", when: "FAILED" },
          ],
          join: "ANY",
          allowFailure: true,
        },
      ],
      output: {
        loaded: { $from: "load", path: ["loaded"] },
        day: { $from: "$input", path: ["day"] },
        first: { $from: "extract", path: ["rows", 0, "id"] },
        kind: "etl",
      },
    });
    assert.deepEqual(etl.tasks, [extract, check, load, page]);
  });

  it("sends the input as its schema gives it back, and options of the run", async () => {
    const { nodes, output, ...rest } = await etl.request({}, { labels: { by: "hand" }, priority: 3, delayMs: 5 });
    assert.deepEqual([nodes, output], [etl.definition.nodes, etl.definition.output]);
    const labels = { team: "data", by: "hand" };
    const own = { name: "nightly-etl", onFailure: "CONTINUE", defaults: { timeoutSec: 60 }, labels };
    assert.deepEqual(rest, { ...own, priority: 3, delayMs: 5, input: { day: "today" } });
    await assert.rejects(etl.request({ day: 5 } as never), (error: MainspringError) => {
      assert.equal(error.message, "the input of workflow nightly-etl does not fit its schema: day: must be a text");
      return error.code === "INVALID_PAYLOAD" && error.errors[0]?.field === "day";
    });
  });

  it("has the policies of its tasks, where neither the node nor the workflow has them", () => {
    const retry = { maxAttempts: 9 };
    const strict = task({ name: "strict", pool: "p", retry, timeoutSec: 5, priority: 9, maxLost: 2, run: () => 1 });
    const { definition } = workflow("w", { defaults: { timeoutSec: 60, pool: "all" } }, (w) => {
      w.node("a", strict);
      w.node("b", strict, null, { pool: "own", retryPolicy: { maxAttempts: 1 }, requires: ["gpu"] });
    });
    assert.deepEqual(definition.nodes, [
      { name: "a", target: { handler: "strict" }, retryPolicy: retry, maxLost: 2 },
      {
        name: "b",
        target: { handler: "strict", pool: "own", requires: ["gpu"] },
        payload: null,
        retryPolicy: { maxAttempts: 1 },
        maxLost: 2,
      },
    ]);
  });

  it("escapes data that look like references, and writes data as JSON does", () => {
    const any = task({ name: "any", run: (_payload: unknown) => 1 });
    const { definition } = workflow("w", {}, (w, input: Ref<{ day: string }>) => {
      const data = { $from: "extract", nested: [{ $literal: 1 }] };
      w.node("a", any, { data, at: new Date(0), gone: undefined, list: [undefined, Number.NaN], day: input.day });
    });
    assert.deepEqual(definition.nodes[0]?.payload, {
      data: { $literal: { $from: "extract", nested: [{ $literal: 1 }] } },
      at: "1970-01-01T00:00:00.000Z",
      list: [null, null],
      day: { $from: "$input", path: ["day"] },
    });
    assert.match(
      refused((w, input) => w.node("a", any, { x: { $from: "a", y: [input.day] } })),
      /^payload\.x\.y\[0\] is a reference beside the key "\$from"/,
    );
    const round: Record<string, unknown> = {};
    round["round"] = round;
    assert.match(
      refused((w) => w.node("a", any, round)),
      /nested deeper than 128 levels, or contains itself$/,
    );
    assert.match(
      refused((w) => w.node("a", any, [1n])),
      /^payload\[0\] is a bigint/,
    );
  });

  it("refuses names that are double, empty or wrong, and options that do not exist", () => {
    assert.match(
      refused((w) => [w.node("a", page), w.node("a", page)]),
      /^workflow "w": there are two nodes with the name "a"$/,
    );
    for (const name of ["", "a b", "x".repeat(65)])
      assert.match(
        refused((w) => w.node(name, page)),
        /: a name has 1 to 64 characters of A-Z a-z 0-9 _ \. -$/,
      );
    assert.match(
      refused((w) => w.node("a", page, null, { retries: 3 } as never)),
      /node "a": there is no option retries;/,
    );
    assert.match(
      refused((w) => [w.node("a", page), w.node("b", task({ name: "page", run: (_payload: null) => 2 }))]),
      /node "b": another node has a different task with the same name "page"$/,
    );
    assert.match(
      refused(() => undefined),
      /^workflow "w": it has no node$/,
    );
    assert.match(
      refused(async (w) => w.node("a", page)),
      /must not be async$/,
    );
    assert.throws(() => workflow("", {}, (w) => w.node("a", page)), /its name must be a text of 1 to 255 characters/);
    assert.throws(
      () => workflow("w", { cron: "x" } as never, (w) => w.node("a", page)),
      /no option cron; options are input,/,
    );
  });

  it("refuses nodes and inputs of another workflow, and takes no node once it is built", () => {
    let other: { w: WorkflowBuilder; day: Ref<string>; rows: Ref<string[]> } | undefined;
    workflow("other", {}, (w, input: Ref<{ day: string }>) => {
      other = { w, day: input.day, rows: w.node("extract", extract, { day: input.day }).files };
    });
    assert.ok(other !== undefined);
    const { w: late, day, rows } = other;
    assert.match(
      refused((w) => w.node("a", load, { parts: rows, bad: 1 })),
      /^workflow "w": node "a": payload\.parts: refers to node "extract" of another workflow, "other"$/,
    );
    assert.match(
      refused((w) => w.node("a", extract, { day })),
      /refers to the input of another workflow, "other"$/,
    );
    assert.match(
      refused((w) => [w.node("a", page), day]),
      /^workflow "w": output\[1\]: refers to the input of another/,
    );
    assert.match(
      refused((w, input) => {
        const end = late.finished(other?.rows as never);
        w.node("a", extract, input, { after: [end] });
      }),
      /takes a node, not extract\.files$/,
    );
    assert.throws(() => late.node("b", page), /node "b": the workflow is built, so it takes no more nodes$/);
  });

  it("refuses ends of another workflow, unknown branches and parts in place of nodes", () => {
    let end: ReturnType<WorkflowBuilder["failed"]> | undefined;
    workflow("other", {}, (w) => {
      end = w.failed(w.node("x", page));
    });
    const kinds = /after: takes nodes of this workflow, and what failed\(…\), finished\(…\) and branch\(…\) return$/;
    assert.match(
      refused((w) => w.node("a", page, null, { after: [end as never] })),
      kinds,
    );
    assert.match(
      refused((w) => w.node("a", page, null, { after: [{ node: "x", when: "FAILED" }] })),
      kinds,
    );
    assert.match(
      refused((w) => w.branch(w.node("a", page, null, { branches: ["x", "y"] }) as never, "z")),
      /node "a" has no branch "z", only "x", "y"$/,
    );
    assert.match(
      refused((w) => w.branch(w.node("a", page), "z z")),
      /branch "z z": a name has 1 to 64/,
    );
    assert.match(
      refused((w, input) => w.failed(input)),
      /takes a node, not \$input$/,
    );
  });

  it("refuses code that takes a reference for its value", () => {
    assert.match(
      refused((w, input) => w.node("a", extract, { day: `the ${input.day}` })),
      /^the reference \$input\.day has no value until the workflow runs, so it is neither a text nor a number\. Give it/,
    );
    assert.match(
      refused((_, input) => ({ ...input })),
      /it cannot be copied or listed/,
    );
    assert.match(
      refused((_, input) => [...(input as never)]),
      /it cannot be iterated/,
    );
    assert.match(
      refused((w) => w.node("a", page, null, { after: [{} as never] })),
      /after: takes nodes/,
    );
  });

  it("says the same at each build, and leaves nothing to wait for in an await", async () => {
    const build = () => workflow("w", {}, (w, input: Ref<{ day: string }>) => w.node("a", extract, input));
    assert.equal(JSON.stringify(build().definition), JSON.stringify(build().definition));
    let ref: unknown;
    workflow("w", {}, (w, input: Ref<{ then: string }>) => {
      ref = input;
      w.node("a", page);
    });
    assert.equal(await ref, ref);
    assert.equal(JSON.stringify(ref), '{"$from":"$input"}');
  });
});
