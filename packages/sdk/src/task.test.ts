import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { assignment, ExecutorScene } from "../test/executor-scene.ts";
import type { MainspringError } from "./errors.ts";
import { type Task, task } from "./task.ts";

/** Schema that turns `{ n: "12" }` into `{ n: 12 }`: its output has another type than its input. */
function numberFromText(isAsync: boolean): StandardSchemaV1<{ n: string }, { n: number }> {
  const judge = (payload: unknown): StandardSchemaV1.Result<{ n: number }> => {
    const n = (payload as { n?: unknown } | undefined)?.n;
    if (typeof n === "string" && /^\d+$/.test(n)) return { value: { n: Number(n) } };
    return { issues: [{ message: "must be digits", path: [{ key: "n" }] }, { message: "is wrong" }] };
  };
  const validate = (payload: unknown) => (isAsync ? Promise.resolve(judge(payload)) : judge(payload));
  return { "~standard": { version: 1, vendor: "test", validate } };
}

function doubling(isAsync: boolean): Task<{ n: string }, number> {
  return task({ name: "double", schema: numberFromText(isAsync), run: ({ n }) => 2 * n });
}

describe("a task with a schema", () => {
  for (const isAsync of [false, true]) {
    const when = isAsync ? "later" : "at once";

    it(`runs with what the schema gives back ${when}`, async () => {
      const scene = new ExecutorScene(1, [doubling(isAsync)]);
      scene.apply({ assigns: [assignment("x", { handler: "double", payload: '{"n":"21"}' })] });
      const [report] = await scene.finished();
      assert.deepEqual([report?.outcome, report?.result], ["SUCCEEDED", "42"]);
    });

    it(`fails for good on a payload that it refuses ${when}`, async () => {
      const scene = new ExecutorScene(1, [doubling(isAsync)]);
      scene.apply({ assigns: [assignment("x", { handler: "double", payload: '{"n":21}' })] });
      const [report] = await scene.finished();
      assert.deepEqual([report?.outcome, report?.error?.name], ["FAILED", "InvalidPayload"]);
      assert.deepEqual(report?.advice, { kind: "NEVER" });
      assert.match(report?.error?.message ?? "", /payload of double .* n: must be digits; is wrong$/);
    });

    it(`makes no job of one that it refuses ${when}, and names the fields`, async () => {
      const made = doubling(isAsync).job({ n: "x" });
      await assert.rejects(made, (error: MainspringError) => {
        assert.equal(error.code, "INVALID_PAYLOAD");
        assert.deepEqual(error.errors, [
          { field: "n", message: "must be digits" },
          { field: "", message: "is wrong" },
        ]);
        return true;
      });
    });
  }

  it("sends the payload as it was given: the worker's schema has to take it again", async () => {
    assert.deepEqual(await doubling(false).job({ n: "21" }), { target: { handler: "double" }, payload: { n: "21" } });
  });

  it("names the place of what is wrong as a path", async () => {
    const path = ["items", 3, { key: "price" }];
    const validate = () => ({ issues: [{ message: "is negative", path }] });
    const schema: StandardSchemaV1 = { "~standard": { version: 1, vendor: "test", validate } };
    const nested = task({ name: "nested", schema, run: () => undefined });
    await assert.rejects(nested.job({}), /items\.3\.price: is negative/);
  });
});

describe("a task's job", () => {
  const retry = { maxAttempts: 3, backoff: "FIXED" } as const;
  const plain = task({ name: "plain", retry, run: (_payload: { a: number }) => undefined });

  it("has its handler, its retry policy, and the options that are given", async () => {
    const options = { pool: "p", requires: ["gpu"], priority: "HIGH", delayMs: 5 } as const;
    assert.deepEqual(await plain.job({ a: 1 }, options), {
      target: { handler: "plain", pool: "p", requires: ["gpu"] },
      payload: { a: 1 },
      retryPolicy: retry,
      priority: "HIGH",
      delayMs: 5,
    });
  });

  it("may have a policy of its own", async () => {
    const { retryPolicy } = await plain.job({ a: 1 }, { retryPolicy: { maxAttempts: 9 } });
    assert.deepEqual(retryPolicy, { maxAttempts: 9 });
  });

  it("has no payload where none is given", async () => {
    const bare = task({ name: "bare", run: (_payload: undefined) => undefined });
    assert.deepEqual(await bare.job(undefined), { target: { handler: "bare" } });
  });
});
