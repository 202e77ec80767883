import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StandardSchemaV1 } from "@standard-schema/spec";
import type { Client } from "../client/client.ts";
import type { WorkflowHandle } from "../client/workflow-handle.ts";
import type { SpawnNode } from "../handlers/spawn.ts";
import { type Task, task } from "../task.ts";
import type { Ref } from "./ref.ts";
import { workflow } from "./workflow.ts";
import type { WorkflowBuilder } from "./workflow-builder.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
/** Compiles where both types are the same. */
function same<A, B>(isSame: Same<A, B>): void {
  assert.equal(isSame, true);
}
/** Type of the result of a workflow. */
type Result<W> = W extends { submit(...args: never[]): Promise<WorkflowHandle<infer R>> } ? R : never;

interface Found {
  id: number;
  at: Date;
  tags: string[];
  place?: { city: string };
  either: { kind: "a"; n: number } | null;
}
declare const schema: StandardSchemaV1<{ day?: string }, { day: string }>;
const find = task({ name: "find", run: (_payload: { id: number; why?: string | null }): Found => ({}) as Found });
const takesAll = task({ name: "all", run: (_payload: { list: { n: number }[]; kind: "a" | "b"; text: string }) => 1 });
const nothing = task({ name: "nothing", run: (_payload: null) => undefined });
const bare = task({ name: "bare", run: () => ({ ok: true }) });
const isolated: Task<{ n: number }, number> = task<{ n: number }, number>({
  name: "isolated",
  isolate: { in: "thread", module: new URL("file:///x.ts"), export: "x" },
});

type Program = (w: WorkflowBuilder, input: Ref<{ day: string; n: number; kind: "a" | "b" | "c" }>) => unknown;
/** The compiler is the test: it accepts the program, and refuses the lines that say so. The program never runs. */
function compiles(program: Program): void {
  assert.equal(typeof program, "function");
}

describe("the types of a workflow", () => {
  it("take a payload whose values, at any depth, are values or references of their type", () => {
    compiles((w, input) => {
      const found = w.node("a", find, { id: 1 });
      w.node("b", find, { id: input.n, why: found.at });
      w.node("c", takesAll, { list: [{ n: 1 }, { n: found.id }], kind: "a", text: found.tags[0] ?? "" });
      w.node("d", find, found);
      w.node("e", isolated, { n: found.id });
      // @ts-expect-error -- a text for a number
      w.node("f", find, { id: "1" });
      // @ts-expect-error -- a reference to a text for a number
      w.node("g", find, { id: input.day });
      // @ts-expect-error -- no id
      w.node("h", find, { why: "x" });
      // @ts-expect-error -- one of the kinds is none that the task takes
      w.node("i", takesAll, { list: [], kind: input.kind, text: "" });
      // @ts-expect-error -- a reference to a list for a number, within a list
      w.node("j", takesAll, { list: [{ n: found.tags }], kind: "a", text: "" });
      // @ts-expect-error -- there is no such field
      w.node("k", find, { id: found.nowhere });
      // @ts-expect-error -- the payload is missing
      w.node("l", find);
      // @ts-expect-error -- there is no field with this name
      w.node("m", find, { id: 1, other: 2 });
      // @ts-expect-error -- a reference of another task's result
      w.node("n", takesAll, found);
    });
  });

  it("let a task without payload do without", () => {
    compiles((w) => {
      w.node("a", nothing);
      w.node("b", bare);
      w.node("c", nothing, null, { allowFailure: true });
      const seen: Ref<{ ok: boolean }> = w.node("d", bare, undefined, { pool: "p" });
      // @ts-expect-error -- the task takes no object
      w.node("e", nothing, { n: 1 });
      // @ts-expect-error -- there is no such option
      w.node("f", nothing, null, { retries: 1 });
      return seen.ok;
    });
  });

  it("follow what JSON makes of a result", () => {
    compiles((w) => {
      const found = w.node("a", find, { id: 1 });
      same<typeof found.at, Ref<string>>(true);
      same<typeof found.tags, Ref<string[]>>(true);
      same<typeof found.place.city, Ref<string>>(true);
      same<typeof found.either.n, Ref<number>>(true);
      const first = w.at(found.tags, 0);
      same<typeof first, Ref<string>>(true);
      const maybe = w.orNull(found.id);
      same<typeof maybe, Ref<number | null>>(true);
      w.node("b", find, { id: 1, why: w.orNull(found.at) });
      // @ts-expect-error -- the value may be null
      w.node("c", find, { id: w.orNull(found.id) });
    });
  });

  it("know the branches that a node declares", () => {
    compiles((w) => {
      const open = w.node("a", nothing);
      const forked = w.node("b", nothing, null, { branches: ["good", "bad"] });
      w.node("c", nothing, null, { after: [w.branch(forked, "good"), w.branch(open, "any"), w.failed(forked), open] });
      // @ts-expect-error -- the node has no such branch
      w.branch(forked, "ugly");
      // @ts-expect-error -- a text is no node
      w.node("d", nothing, null, { after: ["a"] });
      w.node("e", find, { id: 1 });
      // @ts-expect-error -- a part of a result has no branches
      w.branch(w.node("f", find, { id: 1 }).place, "x");
    });
  });

  it("give a run the type of its output, and submits that of the input", () => {
    const byRef = () => workflow("w", {}, (w, input: Ref<{ n: number }>) => w.node("a", find, { id: input.n }).place);
    same<Result<ReturnType<typeof byRef>>, { city: string }>(true);
    const byObject = () =>
      workflow("w", { input: schema }, (w, input) => {
        const found = w.node("a", find, { id: 1 });
        return {
          day: input.day,
          list: [found.id],
          fixed: "x" as const,
          at: new Date(0),
          deep: { maybe: w.orNull(found.at) },
        };
      });
    type Output = { day: string; list: number[]; fixed: "x"; at: string; deep: { maybe: string | null } };
    same<Result<ReturnType<typeof byObject>>, Output>(true);
    const without = () => workflow("w", {}, (w) => void w.node("a", nothing));
    same<Result<ReturnType<typeof without>>, null>(true);

    const submits = async (client: Client) => {
      await byRef().submit(client, { n: 1 }, { priority: "HIGH", delayMs: 1 });
      await byObject().submit(client, {});
      await byObject().schedule(client, { everySec: 60, input: { day: "x" }, overlap: "SKIP" });
      await without().submit(client);
      await without().schedule(client, { schedule: "@daily", timezone: "Europe/Berlin" });
      // @ts-expect-error -- the input is missing
      await byRef().submit(client);
      // @ts-expect-error -- the input has another type
      await byRef().submit(client, { n: "1" });
      // @ts-expect-error -- the input of the schedule is missing
      await byRef().schedule(client, { everySec: 60 });
      // @ts-expect-error -- neither a schedule nor an interval
      await without().schedule(client, { timezone: "Europe/Berlin" });
      // @ts-expect-error -- a run that recurs has no delay
      await without().schedule(client, { everySec: 60, delayMs: 5 });
    };
    assert.equal(typeof submits, "function");
  });
});

describe("the type of a node that a handler adds", () => {
  it("takes a task or a target, with the policies of a node, and nothing that added nodes do not have", () => {
    const nodes: SpawnNode[] = [
      { name: "a", task: find, payload: { id: { $from: "$input" } }, dependsOn: ["b", { node: "c", when: "FAILED" }] },
      { name: "b", target: { handler: "x", pool: "p", requires: ["gpu"] }, join: "ANY", allowFailure: true },
      { name: "c", task: isolated, timeoutSec: 3, retryPolicy: { maxAttempts: 1 }, priority: "HIGH" },
      // @ts-expect-error -- neither a task nor a target
      { name: "d" },
      // @ts-expect-error -- both
      { name: "e", task: find, target: { handler: "x" } },
      // @ts-expect-error -- added nodes have no concurrency key
      { name: "f", task: find, concurrencyKey: "k" },
      // @ts-expect-error -- added nodes are no maps
      { name: "g", task: find, map: "$input" },
    ];
    assert.equal(nodes.length, 7);
  });
});
