import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { task } from "../task.ts";
import type { Ref } from "./ref.ts";
import { workflow } from "./workflow.ts";
import type { WorkflowBuilder } from "./workflow-builder.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles where both types are the same. */
function same<A, B>(isSame: Same<A, B>): void {
  assert.equal(isSame, true);
}

const extract = task({ name: "extract", run: () => ({ files: [{ path: "a" }], day: "monday" }) });
const transform = task({
  name: "transform",
  pool: "cpu",
  run: (file: { path: string; n: number; day: string }) => ({ rows: file.n }),
});
const load = task({ name: "load", run: (_payload: { parts: ({ rows: number } | null)[] }) => 1 });

function refuses(build: (w: WorkflowBuilder, files: Ref<{ path: string }[]>) => unknown, message: RegExp): void {
  assert.throws(() => workflow("w", {}, (w) => build(w, w.node("extract", extract).files)), message);
}

describe("a map", () => {
  it("is a node with its items, whose results later nodes get as a list", () => {
    const { definition } = workflow("w", {}, (w) => {
      const { files, day } = w.node("extract", extract);
      const ready = w.node("ready", extract);
      const payload = (file: Ref<{ path: string }>, n: Ref<number>) => ({ path: file.path, n, day });
      const options = { after: [w.finished(ready)], maxRunning: 50, tolerate: { failures: 5 } };
      const each = w.map("each", transform, files, payload, options);
      same<typeof each, Ref<({ rows: number } | null)[]>>(true);
      return w.node("load", load, { parts: each });
    });
    assert.deepEqual(definition.nodes.slice(2), [
      {
        name: "each",
        target: { handler: "transform", pool: "cpu" },
        map: { $from: "extract", path: ["files"] },
        maxRunning: 50,
        tolerate: { failures: 5 },
        payload: {
          path: { $item: true, path: ["path"] },
          n: { $index: true },
          day: { $from: "extract", path: ["day"] },
        },
        dependsOn: [{ node: "ready", when: "FINISHED" }, "extract"],
      },
      { name: "load", target: { handler: "load" }, payload: { parts: { $results: "each" } }, dependsOn: ["each"] },
    ]);
    assert.deepEqual(definition.output, { $from: "load" });
  });

  it("takes the input as its list, and an item as a whole", () => {
    const whole = task({ name: "whole", run: (path: string) => path.length });
    const { definition } = workflow("w", {}, (w, input: Ref<string[]>) => {
      const each = w.map("each", whole, input, (path) => path);
      same<typeof each, Ref<number[]>>(true);
      return { lengths: each };
    });
    const [each] = definition.nodes;
    assert.deepEqual(each, {
      name: "each",
      target: { handler: "whole" },
      map: { $from: "$input" },
      payload: { $item: true },
    });
    assert.deepEqual(definition.output, { lengths: { $results: "each" } });
  });

  it("is refused with an item of another map, a part of its results, or without a list", () => {
    refuses((w, files) => {
      let kept: Ref<{ path: string }> | undefined;
      w.map("one", transform, files, (file, n) => {
        kept = file;
        return { path: file.path, n, day: "x" };
      });
      w.map("two", transform, files, (_, n) => ({ path: kept?.path ?? "", n, day: "x" }));
    }, /node "two": payload\.path: refers to an item of the map "one", outside of the payload of that map$/);
    refuses((w, files) => {
      const each = w.map("one", transform, files, (file, n) => ({ path: file.path, n, day: "x" }));
      return w.at(each, 0);
    }, /the reference one has no value until .* so a part of the results of a map cannot be named/);
    refuses(
      (w) => w.map("one", transform, [] as never, () => ({ path: "", n: 1, day: "" })),
      /its items: takes a reference/,
    );
    refuses((w, files) => {
      // @ts-expect-error -- the item is an object, and the task takes its path
      w.map("one", transform, files, (file, n) => ({ path: file, n, day: "x" }));
      // @ts-expect-error -- a text is no list
      w.map("two", transform, w.at(files, 0).path, (_, n) => ({ path: "", n, day: "x" }));
      return w.node("one", load, { parts: [] });
    }, /two nodes with the name "one"$/);
  });
});
