import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { GraphNode } from "./compile-graph.ts";
import type { Condition, OnFailure } from "./definition.ts";
import type { WorkflowGraph } from "./graph.ts";
import { decodeGraph, encodeGraph } from "./graph-bytes.ts";
import { type NodeOutcome, type NodeState, type RunMode, RunProgress } from "./readiness.ts";
import { type RunPart, spawnDepth, withParts } from "./spawned-parts.ts";
import { BRANCHES, type Dag, dags, graphOf } from "./testing/some-graph.ts";

/** A node as the oracle sees it, with the numbers of its parents. */
interface Known {
  node: GraphNode;
  edges: { parent: number; when: Condition }[];
  spawner: number;
}

/** Rows of a run, and the nodes that it has. */
interface World {
  nodes: Map<number, Known>;
  onFailure: OnFailure;
  outcomes: Map<number, NodeOutcome>;
  live: Set<number>;
  mode: RunMode;
}

const OPEN: readonly NodeState[] = ["BLOCKED", "READY", "LIVE"];

/** States by definition: repeats the rules for every node until nothing changes. */
class Oracle {
  readonly #world: World;
  readonly states = new Map<number, NodeState>();

  constructor(world: World) {
    this.#world = world;
    const { nodes, outcomes, live } = world;
    for (const n of nodes.keys()) {
      this.states.set(n, outcomes.get(n)?.state ?? (live.has(n) ? "LIVE" : "BLOCKED"));
    }
    const isFatal = (n: number) => this.#state(n) === "DEAD" && nodes.get(n)?.node.allowFailure === false;
    const isFailing = world.mode === "FAILING" || (world.onFailure === "FAIL_FAST" && [...nodes.keys()].some(isFatal));
    const survivors = this.#survivors();
    const isStopped = (n: number) => world.mode === "CANCELLING" || (isFailing && !survivors.has(n));
    for (let hasChanged = true; hasChanged; ) {
      hasChanged = false;
      for (const n of nodes.keys()) {
        if (this.#state(n) !== "BLOCKED") continue;
        this.states.set(n, isStopped(n) ? "SKIPPED" : this.#decide(n));
        hasChanged ||= this.#state(n) !== "BLOCKED";
      }
    }
  }

  #state(n: number): NodeState {
    return this.states.get(n) as NodeState;
  }

  #decide(n: number): NodeState {
    const { node, edges } = this.#world.nodes.get(n) as Known;
    const judged = edges.map(({ parent, when }) => this.#judge(parent, when));
    if (judged.length === 0) return "READY";
    const [deciding, other] = node.join === "ANY" ? (["MET", "DEAD"] as const) : (["DEAD", "MET"] as const);
    if (judged.includes(deciding)) return deciding === "MET" ? "READY" : "SKIPPED";
    if (judged.every((edge) => edge === other)) return other === "MET" ? "READY" : "SKIPPED";
    return "BLOCKED";
  }

  #judge(parent: number, when: Condition): "OPEN" | "MET" | "DEAD" {
    const state = this.#effective(parent);
    if (state === null) return "OPEN";
    const branch = this.#world.outcomes.get(parent)?.branch;
    const met: Record<string, string[]> = {
      SUCCEEDED: ["SUCCEEDED", "FINISHED", `BRANCH:${branch}`],
      DEAD: ["FAILED", "FINISHED"],
    };
    return (met[state] ?? ["FINISHED"]).includes(when) ? "MET" : "DEAD";
  }

  /** State of a node for those that depend on it; null: it is open, or something that it has added is. */
  #effective(n: number): NodeState | null {
    const state = this.#state(n);
    if (OPEN.includes(state)) return null;
    let isBad = false;
    for (const [child, { node, spawner }] of this.#world.nodes) {
      if (spawner !== n || node.detached === true) continue;
      const end = this.#effective(child);
      if (end === null) return null;
      isBad ||= (end === "DEAD" || end === "CANCELLED") && !node.allowFailure;
    }
    return isBad && state === "SUCCEEDED" ? "DEAD" : state;
  }

  #survivors(): Set<number> {
    const { nodes } = this.#world;
    const survivors = new Set<number>();
    for (let size = -1; size !== survivors.size; ) {
      size = survivors.size;
      for (const [n, { edges, spawner }] of nodes) {
        const survives = ({ parent, when }: Known["edges"][number]) =>
          when === "FAILED" || when === "FINISHED" || survivors.has(parent);
        if (edges.some(survives) || survivors.has(spawner)) survivors.add(n);
      }
    }
    return survivors;
  }
}

const OUTCOMES: readonly NodeOutcome[] = [
  ...BRANCHES.map((branch) => ({ state: "SUCCEEDED" as const, branch })),
  { state: "SUCCEEDED", branch: null },
  { state: "SUCCEEDED", branch: null },
  { state: "DEAD", branch: null },
  { state: "CANCELLED", branch: null },
];

/** A run that random numbers drive, whose nodes add parts. */
class Play {
  readonly world: World = {
    nodes: new Map(),
    onFailure: "CONTINUE",
    outcomes: new Map(),
    live: new Set(),
    mode: "RUNNING",
  };
  readonly base: WorkflowGraph;
  readonly parts: RunPart[] = [];
  progress: RunProgress;
  #picks: readonly number[];
  #picked = 0;
  #dags: Dag[];
  #next: number;

  constructor(dag: Dag, parts: readonly Dag[], picks: readonly number[]) {
    this.base = graphOf(dag);
    this.world.onFailure = dag.onFailure;
    this.progress = RunProgress.of(this.base, [], [], "RUNNING");
    this.#picks = picks;
    this.#dags = [...parts];
    this.#next = this.base.nodeCount;
    this.#know(dag, 0, -1);
  }

  /** Runs to the end. Fails if the end does not come. */
  toEnd(): void {
    this.#check();
    for (let left = 4 * 200; this.progress.end() === null; left--) {
      assert.ok(left > 0, "a run ends");
      const pick = this.#pick();
      if (pick % 101 === 0 && this.world.mode !== "CANCELLING") this.#cancel();
      else if (this.progress.ready > 0 && (this.world.live.size === 0 || pick % 3 === 0)) this.#start(1 + (pick % 5));
      else this.#end(pick);
      this.#check();
    }
  }

  #pick(): number {
    return this.#picks[this.#picked++ % this.#picks.length] as number;
  }

  #know({ nodes }: Dag, first: number, spawner: number): void {
    const numbers = new Map(nodes.map(({ name }, n) => [name, first + n]));
    for (const [n, node] of nodes.entries()) {
      const edges = node.dependsOn.map(({ node: parent, when }) => ({ parent: numbers.get(parent) as number, when }));
      this.world.nodes.set(first + n, { node, edges, spawner });
    }
  }

  #start(max: number): void {
    for (const node of this.progress.takeReady(max)) this.world.live.add(node);
  }

  #cancel(): void {
    this.world.mode = "CANCELLING";
    this.progress.setMode("CANCELLING");
  }

  #end(pick: number): void {
    const live = [...this.world.live];
    const node = live[pick % live.length] as number;
    const outcome = OUTCOMES[pick % OUTCOMES.length] as NodeOutcome;
    if (outcome.state === "SUCCEEDED" && pick % 2 === 0 && spawnDepth(this.progress.graph, node) < 3)
      this.#spawn(node, pick);
    this.world.live.delete(node);
    this.world.outcomes.set(node, outcome);
    this.progress.ended(node, outcome);
    if (this.world.mode === "RUNNING") this.world.mode = this.progress.mode;
  }

  #spawn(spawner: number, pick: number): void {
    const dag = this.#dags.pop();
    if (dag === undefined) return;
    // Some numbers are taken by parts that were never written.
    const first = this.#next + (pick % 5 === 0 ? 2 : 0);
    const nodes = dag.nodes.map((node, n) => ({ ...node, detached: (pick + n) % 4 === 0 }));
    const decoded = decodeGraph(encodeGraph(graphOf({ nodes, onFailure: "FAIL_FAST" })));
    assert.ok("graph" in decoded);
    const part = { spawner, first, graph: decoded.graph };
    this.#next = first + nodes.length;
    this.#know({ nodes, onFailure: "FAIL_FAST" }, first, spawner);
    this.parts.push(part);
    this.progress = this.progress.extended(withParts(this.progress.graph, [part]));
  }

  #check(): void {
    const { states } = new Oracle(this.world);
    const numbers = [...this.world.nodes.keys()];
    const told = (progress: RunProgress) => numbers.map((n) => `${n} ${progress.stateOf(n)}`);
    const expected = numbers.map((n) => `${n} ${states.get(n)}`);
    assert.deepEqual(told(this.progress), expected, "as the rules say");
    const { outcomes, live, mode } = this.world;
    const again = RunProgress.of(withParts(this.base, this.parts), outcomes, live, mode);
    assert.deepEqual(told(again), expected, "the same from the rows");
    assert.equal(again.mode, this.progress.mode);
    assert.deepEqual([...again.graph.order], [...this.progress.graph.order]);
    for (const n of numbers) {
      assert.deepEqual(again.whySkipped(n), this.progress.whySkipped(n));
      if (states.get(n) === "BLOCKED") assert.ok(this.progress.openParents(n).length > 0, "something is waited for");
      assert.deepEqual(again.openParents(n), this.progress.openParents(n));
    }
    const counted = numbers.filter((n) => states.get(n) === "SKIPPED").length;
    assert.equal(this.progress.count("SKIPPED"), counted, "void numbers do not count");
    assert.equal(this.progress.count("BLOCKED"), numbers.filter((n) => states.get(n) === "BLOCKED").length);
  }
}

const policies = fc.constantFrom<OnFailure[]>("FAIL_FAST", "CONTINUE");

it("the states of a run with parts follow from the rows, whatever adds them and in whatever order nodes end", () => {
  fc.assert(
    fc.property(
      dags(8, policies),
      fc.array(dags(5, fc.constant("FAIL_FAST" as const)), { maxLength: 6 }),
      fc.array(fc.nat(10_000), { minLength: 20, maxLength: 60 }),
      (dag, parts, picks) => new Play(dag, parts, picks).toEnd(),
    ),
    { numRuns: 400 },
  );
});
