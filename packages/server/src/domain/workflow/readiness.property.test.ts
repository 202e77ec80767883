import assert from "node:assert/strict";
import { it } from "node:test";
import fc from "fast-check";
import type { Dependency } from "./definition.ts";
import { type NodeOutcome, type NodeState, type RunMode, RunProgress } from "./readiness.ts";
import { BRANCHES, type Dag, dags, graphOf } from "./testing/some-graph.ts";

/** Rows of a run. */
interface Rows {
  outcomes: Map<number, NodeOutcome>;
  live: Set<number>;
  mode: RunMode;
}

/** States by definition: repeats the rules for every node until nothing changes. */
function oracle({ nodes, onFailure }: Dag, { outcomes, live, mode }: Rows): NodeState[] {
  const numbers = new Map(nodes.map(({ name }, number) => [name, number]));
  const states = nodes.map((_, n): NodeState => outcomes.get(n)?.state ?? (live.has(n) ? "LIVE" : "BLOCKED"));
  const isFatal = (n: number) => states[n] === "DEAD" && nodes[n]?.allowFailure === false;
  const isFailing = mode === "FAILING" || (onFailure === "FAIL_FAST" && [...nodes.keys()].some(isFatal));
  const survivors = survivorsOf(nodes);
  const judge = ({ node, when }: Dependency) => {
    const parent = numbers.get(node) as number;
    return judged(states[parent] as NodeState, outcomes.get(parent)?.branch, when);
  };
  const decide = (n: number): NodeState => {
    const { name, dependsOn, join } = nodes[n] as Dag["nodes"][number];
    if (mode === "CANCELLING" || (isFailing && !survivors.has(name))) return "SKIPPED";
    const edges = dependsOn.map(judge);
    if (edges.length === 0) return "READY";
    if (join === "ANY") {
      if (edges.includes("MET")) return "READY";
      return edges.every((edge) => edge === "DEAD") ? "SKIPPED" : "BLOCKED";
    }
    if (edges.includes("DEAD")) return "SKIPPED";
    return edges.every((edge) => edge === "MET") ? "READY" : "BLOCKED";
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

/** State of an edge by the state of its parent. */
function judged(state: NodeState, branch: string | null | undefined, when: string): "OPEN" | "MET" | "DEAD" {
  if (state === "BLOCKED" || state === "READY" || state === "LIVE") return "OPEN";
  const met = {
    SUCCEEDED: ["SUCCEEDED", "FINISHED", `BRANCH:${branch}`],
    DEAD: ["FAILED", "FINISHED"],
    SKIPPED: ["FINISHED"],
    CANCELLED: ["FINISHED"],
  };
  return (met[state] as string[]).includes(when) ? "MET" : "DEAD";
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

const OUTCOMES: readonly NodeOutcome[] = [
  ...BRANCHES.map((branch) => ({ state: "SUCCEEDED" as const, branch })),
  { state: "SUCCEEDED", branch: null },
  { state: "SUCCEEDED", branch: "unheard-of" },
  { state: "DEAD", branch: null },
  { state: "SKIPPED", branch: null },
  { state: "CANCELLED", branch: null },
];

const STATES: readonly NodeState[] = ["BLOCKED", "READY", "LIVE", "SUCCEEDED", "DEAD", "SKIPPED", "CANCELLED"];

/** A run that random numbers drive. */
class Play {
  readonly dag: Dag;
  readonly progress: RunProgress;
  readonly rows: Rows = { outcomes: new Map(), live: new Set(), mode: "RUNNING" };
  readonly #picks: readonly number[];
  #picked = 0;

  constructor(dag: Dag, picks: readonly number[]) {
    this.dag = dag;
    this.#picks = picks;
    this.progress = RunProgress.of(graphOf(dag), [], [], "RUNNING");
  }

  /** Runs to the end. Fails if the end does not come. */
  toEnd(mayCancel: boolean, outcomeOf: (node: number, pick: number) => NodeOutcome, check = () => {}): this {
    check();
    for (let left = 2 * this.dag.nodes.length + 1; this.progress.end() === null; left--) {
      assert.ok(left > 0, "a run ends");
      const pick = this.#pick();
      if (mayCancel && pick % 97 === 0 && this.progress.mode !== "CANCELLING") this.#setMode("CANCELLING");
      else if (this.progress.ready > 0 && (this.progress.live === 0 || pick % 3 === 0)) this.#start(1 + (pick % 7));
      else this.#end(outcomeOf);
      check();
    }
    return this;
  }

  states(of = this.progress): NodeState[] {
    return this.dag.nodes.map((_, node) => of.stateOf(node));
  }

  #pick(): number {
    return this.#picks[this.#picked++ % this.#picks.length] as number;
  }

  #start(max: number): void {
    const before = this.states();
    const { order } = this.progress.graph;
    const wanted = [...order].filter((node) => before[node] === "READY").slice(0, max);
    assert.deepEqual(this.progress.takeReady(max), wanted);
    for (const node of wanted) this.rows.live.add(node);
  }

  #end(outcomeOf: (node: number, pick: number) => NodeOutcome): void {
    const live = [...this.rows.live];
    const node = live[this.#pick() % live.length] as number;
    const outcome = outcomeOf(node, this.#pick());
    this.rows.live.delete(node);
    this.rows.outcomes.set(node, outcome);
    this.#changes(node, () => this.progress.ended(node, outcome));
  }

  #setMode(mode: RunMode): void {
    this.rows.mode = mode;
    this.#changes(-1, () => this.progress.setMode(mode));
  }

  /** Checks that the change tells of exactly the nodes whose state changed. */
  #changes(ended: number, event: () => ReturnType<RunProgress["setMode"]>): void {
    const before = this.states();
    const mode = this.progress.mode;
    const { ready, skipped, cancel } = event();
    const after = this.states();
    const changedTo = (state: NodeState) =>
      [...after.keys()].filter((node) => node !== ended && after[node] === state && before[node] !== state);
    assert.deepEqual(ready.sort(byNumber), changedTo("READY"));
    assert.deepEqual(skipped.sort(byNumber), changedTo("SKIPPED"));
    assert.deepEqual(cancel, mode === this.progress.mode ? [] : this.progress.toCancel());
  }

  /** Progress by the rows alone. */
  recounted(): RunProgress {
    return RunProgress.of(this.progress.graph, this.rows.outcomes, this.rows.live, this.rows.mode);
  }

  checkAgainstRecount(): void {
    const recounted = this.recounted();
    assert.deepEqual(this.states(), this.states(recounted));
    assert.deepEqual(summaryOf(this.progress), summaryOf(recounted));
  }

  checkAgainstOracle(): void {
    const states = oracle(this.dag, this.rows);
    assert.deepEqual(this.states(), states);
    for (const state of STATES) {
      assert.equal(this.progress.count(state), states.filter((one) => one === state).length, state);
    }
  }

  checkExplanations(): void {
    const recounted = this.recounted();
    const undisturbed = oracle({ ...this.dag, onFailure: "CONTINUE" }, { ...this.rows, mode: "RUNNING" });
    const survivors = survivorsOf(this.dag.nodes);
    for (const [node, { name }] of this.dag.nodes.entries()) {
      this.#checkParents(node);
      const cause = this.progress.whySkipped(node);
      assert.deepEqual(cause, recounted.whySkipped(node));
      assert.equal(this.progress.openEdges(node), recounted.openEdges(node));
      if (this.progress.stateOf(node) !== "SKIPPED" || this.rows.outcomes.has(node)) assert.equal(cause, null);
      else if (undisturbed[node] === "SKIPPED") assert.equal(cause?.kind, "DEAD_EDGES");
      else if (this.progress.mode === "CANCELLING") assert.equal(cause?.kind, "WORKFLOW_CANCELLED");
      else assert.equal(cause?.kind, survivors.has(name) ? "DEAD_EDGES" : "WORKFLOW_FAILED");
    }
  }

  #checkParents(node: number): void {
    const { dependsOn, join } = this.dag.nodes[node] as Dag["nodes"][number];
    const numbers = new Map(this.dag.nodes.map(({ name }, number) => [name, number]));
    const edges = dependsOn.map(({ node: name, when }) => {
      const parent = numbers.get(name) as number;
      return {
        parent,
        when,
        judged: judged(this.progress.stateOf(parent), this.rows.outcomes.get(parent)?.branch, when),
      };
    });
    const open = edges.filter((edge) => edge.judged === "OPEN").map(({ parent }) => parent);
    const isBlocked = this.progress.stateOf(node) === "BLOCKED";
    assert.deepEqual(this.progress.openParents(node), isBlocked ? [...new Set(open)].sort(byNumber) : []);
    assert.equal(this.progress.openEdges(node), isBlocked ? open.length : 0);
    const cause = this.progress.whySkipped(node);
    if (cause?.kind !== "DEAD_EDGES") return;
    assert.ok(cause.edges.length >= (join === "ANY" ? edges.length : 1));
    for (const { parent, when } of cause.edges) {
      assert.equal(edges.find((edge) => edge.parent === parent && edge.when === when)?.judged, "DEAD");
    }
  }
}

function summaryOf(progress: RunProgress): unknown {
  return [progress.mode, progress.live, progress.ready, progress.toCancel(), progress.end()];
}

function byNumber(a: number, b: number): number {
  return a - b;
}

const policies = fc.constantFrom("FAIL_FAST" as const, "CONTINUE" as const);
const picks = fc.array(fc.nat(10_000), { minLength: 1, maxLength: 300, size: "max" });
const randomly = (_node: number, pick: number) => OUTCOMES[pick % OUTCOMES.length] as NodeOutcome;
/** Mostly successes, so that runs come far. */
const kindly = (node: number, pick: number) => (pick % 8 > 0 ? randomly(node, pick % 4) : randomly(node, pick));

it("comes step by step to the states that a recount of the rows gives, and to the end", () => {
  fc.assert(
    fc.property(dags(200, policies), picks, fc.boolean(), (dag, list, isKind) => {
      const play = new Play(dag, list);
      play.toEnd(true, isKind ? kindly : randomly, () => play.checkAgainstRecount());
      play.checkAgainstOracle();
    }),
    { seed: 20_261_124, numRuns: 60 },
  );
});

it("has the states that the rules give by themselves, after every event", () => {
  fc.assert(
    fc.property(dags(30, policies), picks, fc.boolean(), (dag, list, isKind) => {
      const play = new Play(dag, list);
      play.toEnd(true, isKind ? kindly : randomly, () => play.checkAgainstOracle());
    }),
    { seed: 20_261_124, numRuns: 200 },
  );
});

it("explains every state by the rows alone", () => {
  fc.assert(
    fc.property(dags(30, policies), picks, (dag, list) => {
      const play = new Play(dag, list);
      play.toEnd(true, kindly, () => play.checkExplanations());
    }),
    { seed: 20_261_124, numRuns: 100 },
  );
});

it("comes to the same end in any order of ends and with any window, while the mode stays RUNNING", () => {
  fc.assert(
    fc.property(dags(200, fc.constant("CONTINUE")), picks, picks, picks, (dag, fates, one, other) => {
      const fate = (node: number) => kindly(node, fates[node % fates.length] as number);
      const [a, b] = [one, other].map((list) => new Play(dag, list).toEnd(false, fate)) as [Play, Play];
      assert.deepEqual(a.states(), b.states());
      assert.deepEqual(a.progress.end(), b.progress.end());
      for (const node of dag.nodes.keys()) assert.deepEqual(a.progress.whySkipped(node), b.progress.whySkipped(node));
    }),
    { seed: 20_261_124, numRuns: 60 },
  );
});
