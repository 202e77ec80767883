import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { task } from "../task.ts";
import { workflow } from "./workflow.ts";
import type { WorkflowBuilder } from "./workflow-builder.ts";

const one = task({ name: "one", run: (_payload: null) => 1 });
const takes = task({ name: "takes", run: (_payload: { n: number | null }) => 2 });

/** Dependencies of the last node. */
function dependencies(build: (w: WorkflowBuilder) => unknown): unknown {
  return workflow("w", {}, build).definition.nodes.at(-1)?.dependsOn;
}

function refuses(build: (w: WorkflowBuilder) => unknown, message: RegExp): void {
  assert.throws(() => workflow("w", {}, build), message);
}

const NEEDS = /^MainspringError: workflow "w": node "b" may run although node "a" has no result: write orNull\(…\)/;
const OUTPUT = /output: the run can succeed although node "b" has no result: write orNull\(…\)/;

describe("a reference to a result that may be missing", () => {
  it("waits for success, or as orNull for any end", () => {
    assert.deepEqual(
      dependencies((w) => w.node("b", takes, { n: w.node("a", one) })),
      ["a"],
    );
    assert.deepEqual(
      dependencies((w) => void w.node("b", takes, { n: w.orNull(w.node("a", one)) })),
      [{ node: "a", when: "FINISHED" }],
    );
    const both = task({ name: "both", run: (_payload: { m: number | null; n: number }) => 2 });
    assert.deepEqual(
      dependencies((w) => {
        const a = w.node("a", one);
        w.node("b", both, { m: w.orNull(a), n: a });
      }),
      ["a"],
    );
  });

  it("makes no second dependency beside one of `after`", () => {
    const after = (when: "branch" | "failed" | "finished") =>
      dependencies((w) => {
        const a = w.node("a", one);
        const end = when === "branch" ? w.branch(a, "x") : w[when](a);
        void w.node("b", takes, { n: when === "branch" ? a : w.orNull(a) }, { after: [end] });
      });
    assert.deepEqual(after("branch"), [{ node: "a", when: "BRANCH:x" }]);
    assert.deepEqual(after("failed"), [{ node: "a", when: "FAILED" }]);
    assert.deepEqual(after("finished"), [{ node: "a", when: "FINISHED" }]);
  });

  it("is refused where the node runs without the result", () => {
    for (const end of ["failed", "finished"] as const)
      refuses((w) => {
        const a = w.node("a", one);
        w.node("b", takes, { n: a }, { after: [w[end](a)] });
      }, NEEDS);
    refuses((w) => {
      const [a, x] = [w.node("a", one), w.node("x", one)];
      w.node("b", takes, { n: a }, { after: [a, x], join: "ANY" });
    }, NEEDS);
  });

  it("makes no dependency of a node that joins ANY, which runs only after it", () => {
    const any = (first: "branch" | "finished") => (w: WorkflowBuilder) => {
      const a = w.node("a", one);
      const approved = w.node("approved", one, null, {
        after: [first === "branch" ? w.branch(a, "large") : w.finished(a)],
      });
      void w.node("b", takes, { n: a }, { after: [approved, w.branch(a, "small")], join: "ANY" });
    };
    assert.deepEqual(dependencies(any("branch")), ["approved", { node: "a", when: "BRANCH:small" }]);
    refuses(any("finished"), NEEDS);
  });

  it("is refused in the output of a run that succeeds without the result", () => {
    refuses((w) => w.node("b", one, null, { allowFailure: true }), OUTPUT);
    refuses((w) => w.node("b", one, null, { after: [w.branch(w.node("a", one), "x")] }), OUTPUT);
    refuses((w) => w.node("b", one, null, { after: [w.failed(w.node("a", one))] }), OUTPUT);
    refuses((w) => w.node("b", takes, { n: w.node("a", one, null, { allowFailure: true }) }), OUTPUT);
    for (const build of [
      (w: WorkflowBuilder) =>
        w.node("b", one, null, { after: [w.finished(w.node("a", one, null, { allowFailure: true }))] }),
      (w: WorkflowBuilder) =>
        w.node("b", one, null, { after: [w.failed(w.node("a", one)), w.node("c", one)], join: "ANY" }),
      (w: WorkflowBuilder) => w.orNull(w.node("b", one, null, { allowFailure: true })),
      (w: WorkflowBuilder) => w.node("b", takes, { n: w.node("a", one) }),
    ])
      assert.deepEqual(workflow("w", {}, build).definition.output, { $from: "b" });
  });
});
