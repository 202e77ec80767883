import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Jsonify, ResultOf } from "./jsonify.ts";
import { type Task, task } from "./task.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles where both types are the same. */
function same<A, B>(isSame: Same<A, B>): void {
  assert.equal(isSame, true);
}
class Money {
  readonly cents: number = 1;
  readonly #secret = 2;
  toJSON(): { cents: number; at: Date } {
    return { cents: this.cents + this.#secret, at: new Date(0) };
  }
}
interface Node {
  value: Date;
  next?: Node;
}

describe("the type of a value that arrives as JSON", () => {
  it("has texts for dates, and the answer of toJSON", () => {
    same<Jsonify<Date>, string>(true);
    same<Jsonify<{ at: Date; n: number }>, { at: string; n: number }>(true);
    same<Jsonify<Money>, { cents: number; at: string }>(true);
    same<Jsonify<readonly Date[]>, string[]>(true);
  });

  it("leaves out what JSON cannot say, and may lack what may be undefined", () => {
    same<Jsonify<{ a: string; b: undefined; c: () => void; d: symbol }>, { a: string }>(true);
    same<Jsonify<{ a?: string; b: number | undefined }>, { a?: string; b?: number }>(true);
    same<Jsonify<[string, undefined, () => void]>, [string, null, null]>(true);
    same<Jsonify<Map<string, number>>, Record<string, never>>(true);
  });

  it("is as it was where JSON says it whole", () => {
    same<Jsonify<{ a: "x" | 1 | null; b: { c: boolean }[] }>, { a: "x" | 1 | null; b: { c: boolean }[] }>(true);
    same<Jsonify<unknown>, unknown>(true);
    same<Jsonify<string | { at: Date }>, string | { at: string }>(true);
    same<Jsonify<Node>["value"], string>(true);
    same<NonNullable<Jsonify<Node>["next"]>["value"], string>(true);
  });

  it("is the type of a task's results", () => {
    same<ResultOf<void>, null>(true);
    same<ResultOf<string | undefined>, string | null>(true);
    const dated = task({ name: "dated", run: (n: number) => ({ at: new Date(n), gone: undefined }) });
    type Result = Awaited<ReturnType<typeof dated.call>>;
    same<Result, { at: string }>(true);
    const quiet = task({ name: "quiet", run: (payload: null) => void payload });
    same<Awaited<ReturnType<typeof quiet.call>>, null>(true);
    const all: Task<never, unknown>[] = [dated, quiet];
    assert.equal(all.length, 2);
  });
});
