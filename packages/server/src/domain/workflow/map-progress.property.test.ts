import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { FinalState } from "../execution.ts";
import type { Dependency } from "./definition.ts";
import type { MapRows } from "./map-items.ts";
import { type NodeItem, type NodeState, type RunMode, RunProgress } from "./readiness.ts";
import { type Dag, dags, graphOf, node } from "./testing/some-graph.ts";

/** Rows of a run with maps. */
interface Rows {
  outcomes: Map<number, FinalState>;
  live: Set<number>;
  counts: Map<number, number | null>;
  /** States of items with an execution, by node; null: live. */
  items: Map<number, Map<number, FinalState | null>>;
  mode: RunMode;
}

/** States by definition: repeats the rules for every node until nothing changes. */
function oracle({ nodes, onFailure }: Dag, rows: Rows): NodeState[] {
  const numbers = new Map(nodes.map(({ name }, number) => [name, number]));
  const states = nodes.map((_, n): NodeState => rows.outcomes.get(n) ?? (rows.live.has(n) ? "LIVE" : "BLOCKED"));
  for (const n of rows.counts.keys()) states[n] = mapState(nodes, onFailure, rows, n, false);
  const isFatal = (n: number) => states[n] === "DEAD" && nodes[n]?.allowFailure === false;
  const isFailing = rows.mode === "FAILING" || (onFailure === "FAIL_FAST" && [...nodes.keys()].some(isFatal));
  const survivors = survivorsOf(nodes);
  const isStopped = (n: number) => rows.mode === "CANCELLING" || (isFailing && !survivors.has(nodes[n]?.name ?? ""));
  for (const n of rows.counts.keys()) states[n] = mapState(nodes, onFailure, rows, n, isStopped(n));
  const decide = (n: number): NodeState => {
    const { dependsOn, join } = nodes[n] as Dag["nodes"][number];
    if (isStopped(n)) return "SKIPPED";
    const edges = dependsOn.map(({ node, when }) => judged(states[numbers.get(node) as number] as NodeState, when));
    if (edges.length === 0) return "READY";
    const [deciding, other] = join === "ANY" ? (["MET", "DEAD"] as const) : (["DEAD", "MET"] as const);
    if (edges.includes(deciding)) return deciding === "MET" ? "READY" : "SKIPPED";
    if (edges.every((edge) => edge === other)) return other === "MET" ? "READY" : "SKIPPED";
    return "BLOCKED";
  };
  for (let hasChanged = true; hasChanged; ) {
    hasChanged = false;
    for (const n of nodes.keys()) {
      if (states[n] !== "BLOCKED") continue;
      states[n] = decide(n);
      hasChanged ||= states[n] !== "BLOCKED";
    }
  }
  return states;
}

/** State of a counted map by its items. */
function mapState(nodes: Dag["nodes"], onFailure: string, rows: Rows, n: number, isStopped: boolean): NodeState {
  const size = rows.counts.get(n) ?? null;
  if (size === null) return "DEAD";
  const tolerate = nodes[n]?.map?.tolerate ?? 0;
  const states = [...(rows.items.get(n)?.values() ?? [])];
  const number = (state: FinalState | null) => states.filter((one) => one === state).length;
  const isBroken = onFailure === "FAIL_FAST" && number("DEAD") > tolerate;
  const isComplete = states.length === size;
  if (number(null) > 0 || !(isComplete || isStopped || isBroken)) return "LIVE";
  if (number("DEAD") > tolerate) return "DEAD";
  return isComplete && number("DEAD") + number("CANCELLED") <= tolerate ? "SUCCEEDED" : "CANCELLED";
}

function judged(state: NodeState, when: string): "OPEN" | "MET" | "DEAD" {
  if (state === "BLOCKED" || state === "READY" || state === "LIVE") return "OPEN";
  const met = { SUCCEEDED: ["SUCCEEDED", "FINISHED"], DEAD: ["FAILED", "FINISHED"] } as Record<string, string[]>;
  return (met[state] ?? ["FINISHED"]).includes(when) ? "MET" : "DEAD";
}

function survivorsOf(nodes: Dag["nodes"]): Set<string> {
  const survivors = new Set<string>();
  const survives = ({ node, when }: Dependency) => when === "FAILED" || when === "FINISHED" || survivors.has(node);
  for (let size = -1; size !== survivors.size; ) {
    size = survivors.size;
    for (const { name, dependsOn } of nodes) if (dependsOn.some(survives)) survivors.add(name);
  }
  return survivors;
}

const ENDS: readonly FinalState[] = [
  "SUCCEEDED",
  "SUCCEEDED",
  "SUCCEEDED",
  "SUCCEEDED",
  "DEAD",
  "CANCELLED",
  "SKIPPED",
];

/** Some nodes become maps, with rules by their numbers. */
function withMaps({ nodes, onFailure }: Dag, seed: number): Dag {
  const map = (n: number) => ({ from: "$input", path: [], maxRunning: 1 + ((seed + n) % 5), tolerate: (seed + n) % 3 });
  return { onFailure, nodes: nodes.map((node, n) => ((seed + n) % 3 > 0 ? { ...node, map: map(n) } : node)) };
}

/** A run that random numbers drive. */
class Play {
  readonly dag: Dag;
  readonly progress: RunProgress;
  readonly rows: Rows = { outcomes: new Map(), live: new Set(), counts: new Map(), items: new Map(), mode: "RUNNING" };
  readonly #picks: readonly number[];
  #picked = 0;

  constructor(dag: Dag, picks: readonly number[]) {
    this.dag = dag;
    this.#picks = picks;
    this.progress = RunProgress.of(graphOf(dag), [], [], "RUNNING");
  }

  /** Runs to the end. Fails if the end does not come. */
  toEnd(sizeOf: (node: number) => number | null, check: () => void): void {
    check();
    for (let left = 40 * this.dag.nodes.length + 10; this.progress.end() === null; left--) {
      assert.ok(left > 0, "a run ends");
      const pick = this.#pick();
      const [uncounted] = this.progress.uncounted;
      if (pick % 89 === 0 && this.progress.mode !== "CANCELLING") this.#cancel();
      else if (uncounted !== undefined && pick % 2 === 0) this.#counted(uncounted, sizeOf(uncounted));
      else if (this.progress.ready > 0 && pick % 3 === 0) this.#start();
      else if (!this.#startItems(pick % 7)) this.#end();
      check();
    }
  }

  #pick(): number {
    return this.#picks[this.#picked++ % this.#picks.length] as number;
  }

  #cancel(): void {
    this.rows.mode = "CANCELLING";
    const { stopsItems } = this.progress.setMode("CANCELLING");
    assert.equal(stopsItems, [...this.progress.itemsToCancel()].length > 0);
  }

  #counted(node: number, size: number | null): void {
    if (size === 0) this.rows.outcomes.set(node, "SUCCEEDED");
    else this.rows.counts.set(node, size);
    this.progress.counted(node, size);
  }

  #start(): void {
    for (const node of this.progress.takeReady(3)) this.rows.live.add(node);
  }

  #startItems(max: number): boolean {
    const taken = this.progress.takeItems(max);
    for (const [node, item] of taken) {
      const items = this.rows.items.get(node) ?? new Map();
      assert.ok(!items.has(item), "an item starts once");
      this.rows.items.set(node, items.set(item, null));
      const live = [...items.values()].filter((state) => state === null).length;
      assert.ok(live <= (this.dag.nodes[node]?.map?.maxRunning ?? 0), "a map keeps its own limit");
      assert.ok(!this.progress.stopsItemsOf(node));
    }
    assert.ok(taken.length <= max);
    return taken.length > 0;
  }

  #end(): void {
    const nodes = [...this.rows.live].map((node) => [node, null] as const);
    const live: (NodeItem | readonly [number, null])[] = [...nodes, ...this.progress.liveItems()];
    const one = live[this.#pick() % live.length];
    const state = ENDS[this.#pick() % ENDS.length] as FinalState;
    if (one === undefined) {
      // Only maps that wait for their number or for room are left.
      const [uncounted] = this.progress.uncounted;
      if (uncounted !== undefined) this.#counted(uncounted, 1);
      else if (!this.#startItems(1)) this.#start();
      return;
    }
    const [node, item] = one;
    if (item === null) {
      this.rows.live.delete(node);
      this.rows.outcomes.set(node, state);
      this.progress.ended(node, { state, branch: null });
      return;
    }
    this.rows.items.get(node)?.set(item, state);
    const before = new Set([...this.progress.itemsToCancel()].map(String));
    const { stopsItems } = this.progress.itemEnded(node, item, state);
    if (!stopsItems) for (const after of this.progress.itemsToCancel()) assert.ok(before.has(String(after)));
  }

  states(of = this.progress): NodeState[] {
    return this.dag.nodes.map((_, node) => of.stateOf(node));
  }

  checkAgainstRows(): void {
    const { outcomes, live, counts, mode } = this.rows;
    const failed = [...counts].flatMap(([node, size]) => (size === null ? [[node, "DEAD"] as const] : []));
    const ends = [...outcomes, ...failed].map(([node, state]) => [node, { state, branch: null }] as const);
    const maps = [...counts].flatMap(([node, size]) => (size === null ? [] : [this.#mapRows(node, size)]));
    const recounted = RunProgress.of(this.progress.graph, ends, live, mode, maps);
    assert.deepEqual(this.states(), this.states(recounted));
    assert.deepEqual(summaryOf(this.progress), summaryOf(recounted));
    assert.deepEqual(this.states(), oracle(this.dag, this.rows));
  }

  #mapRows(node: number, size: number): MapRows {
    const items = [...(this.rows.items.get(node) ?? [])];
    const live = items.flatMap(([item, state]) => (state === null ? [item] : []));
    const ended = items.flatMap(([item, state]) => (state === null ? [] : [[state, [item]] as const]));
    return { node, size, live, ended };
  }
}

function summaryOf(progress: RunProgress): unknown {
  const { mode, live, ready, uncounted } = progress;
  const sorted = (items: Iterable<NodeItem>) => Array.from(items, String).sort();
  return [
    ...[mode, live, ready, [...uncounted].sort(), progress.toCancel(), progress.end(), progress.isOver],
    ...[sorted(progress.itemsToCancel()), sorted(progress.liveItems())],
  ];
}

it("tells the nodes behind a map of an end that comes with the failure of the run, before the first item", () => {
  const map = { from: "$input", path: [], maxRunning: 1, tolerate: 0 };
  const nodes = [node("fails"), node("each", {}, { map }), node("tidy", { each: "FINISHED" })];
  const progress = RunProgress.of(graphOf({ nodes, onFailure: "FAIL_FAST" }), [], [], "RUNNING");
  assert.deepEqual(progress.takeReady(1), [0]);
  progress.counted(1, 5);
  progress.ended(0, { state: "DEAD", branch: null });
  assert.deepEqual([progress.stateOf(1), progress.stateOf(2)], ["CANCELLED", "READY"]);
});

it("comes with maps, after every event, to the states that the rows give by themselves, and to the end", () => {
  const policies = fc.constantFrom("FAIL_FAST" as const, "CONTINUE" as const);
  const picks = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 300, size: "max" });
  fc.assert(
    fc.property(dags(14, policies), fc.nat(100), picks, (dag, seed, list) => {
      const play = new Play(withMaps(dag, seed), list);
      const sizeOf = (node: number) => ((seed + node) % 11 === 0 ? null : (seed + 3 * node) % 8);
      play.toEnd(sizeOf, () => play.checkAgainstRows());
    }),
    { seed: 20_261_125, numRuns: 300 },
  );
});
