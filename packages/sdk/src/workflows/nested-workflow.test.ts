import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { task } from "../task.ts";
import type { Ref } from "./ref.ts";
import { workflow } from "./workflow.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles where both types are the same. */
function same<A, B>(isSame: Same<A, B>): void {
  assert.equal(isSame, true);
}

const print = task({ name: "print", pool: "office", run: (what: { day: string }) => ({ pages: what.day.length }) });
const send = task({ name: "send", run: (_pages: number) => "sent" });

const reports = workflow(
  "reports",
  { timeoutSec: 600, priority: "HIGH", concurrencyKey: "printer", onFailure: "CONTINUE", labels: { team: "data" } },
  (w, input: Ref<{ day: string }>) => ({ pages: w.node("print", print, { day: input.day }).pages }),
);

describe("a workflow as a node", () => {
  it("is part of the definition, with the options that a node has", () => {
    const { definition, tasks } = workflow("nightly", {}, (w, input: Ref<{ day: string }>) => {
      const report = w.node("report", reports, { day: input.day });
      same<typeof report, Ref<{ pages: number }>>(true);
      return w.node("send", send, report.pages);
    });
    assert.deepEqual(definition.nodes[0], {
      name: "report",
      workflow: {
        onFailure: "CONTINUE",
        output: { pages: { $from: "print", path: ["pages"] } },
        nodes: [
          {
            name: "print",
            target: { handler: "print", pool: "office" },
            payload: { day: { $from: "$input", path: ["day"] } },
          },
        ],
      },
      payload: { day: { $from: "$input", path: ["day"] } },
      ...{ timeoutSec: 600, priority: "HIGH", concurrencyKey: "printer" },
    });
    assert.deepEqual(definition.nodes[1]?.dependsOn, ["report"]);
    assert.deepEqual(
      tasks.map(({ name }) => name),
      ["print", "send"],
    );
  });

  it("has the options of the node before its own, and runs once for each item of a map", () => {
    const { definition } = workflow("nightly", {}, (w, input: Ref<string[]>) => {
      const each = w.map("each", reports, input, (day) => ({ day }), { timeoutSec: 5, maxRunning: 2 });
      same<typeof each, Ref<{ pages: number }[]>>(true);
    });
    const [each] = definition.nodes;
    assert.deepEqual([each?.timeoutSec, each?.maxRunning, each?.map], [5, 2, { $from: "$input" }]);
    assert.deepEqual([each?.payload, each?.workflow?.nodes.length], [{ day: { $item: true } }, 1]);
  });

  it("is refused with options that a node with a workflow does not have", () => {
    const keyed = workflow("keyed", { uniqueKey: "one" }, (w) => w.node("send", send, 1));
    assert.throws(() => workflow("w", {}, (w) => w.node("a", keyed, undefined)), /node "a": .*"keyed" has a uniqueKey/);
    const options = { retryPolicy: { maxAttempts: 2 } } as object;
    assert.throws(() => workflow("w", {}, (w) => w.node("a", reports, { day: "" }, options)), /no option retryPolicy/);
    const other = task({ name: "print", run: () => 1 });
    assert.throws(
      () =>
        workflow("w", {}, (w) => {
          w.node("a", other);
          w.node("b", reports, { day: "" });
        }),
      /different task with the same name "print"/,
    );
  });
});
