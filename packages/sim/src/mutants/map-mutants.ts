import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const DOMAIN = "packages/server/src/domain/workflow";
const STORY = `${RUNS}/maps.test.ts`;

/** Mutants in the way of maps of workflows. */
export const mapMutants: readonly Mutant[] = [
  {
    name: "a map creates as many items as its run has room for",
    file: `${DOMAIN}/map-items.ts`,
    find: " && this.live.size < this.#rules.maxRunning",
    replace: "",
    why: "more items run at a time than the author of the workflow allows",
    test: {
      file: STORY,
      name: "writes the number of its items in the commit that creates the first ones, and holds to its limit",
    },
  },
  {
    name: "an owner that reads a run does not ask for the items of its maps",
    file: `${RUNS}/count-items.ts`,
    find: "if (batch <= step.state.runs.committed) ask(step, run, node);",
    replace: "if (batch <= step.state.runs.committed) continue;",
    why: "a run whose owner was lost before it had counted the items stands still",
    test: { file: STORY, name: "asks for the items of a map that was not counted" },
  },
  {
    name: "the items of a map are counted before the end of its parent is durable",
    file: `${RUNS}/count-items.ts`,
    find: "if (batch <= step.state.runs.committed) ask(",
    replace: "if (batch >= 0) ask(",
    why: "the read does not find the result, and the map is DEAD",
    test: { file: STORY, name: "asks for its items when the end of its parent is durable, and not before" },
  },
  {
    name: "a map fails with one DEAD item fewer than it does not tolerate",
    file: `${DOMAIN}/map-items.ts`,
    find: "return this.#failsFast && this.#dead > this.#rules.tolerate;",
    replace: "return this.#failsFast && this.#dead >= this.#rules.tolerate;",
    why: "a map that tolerates a failure stops with it",
    test: { file: STORY, name: "that tolerates a failure goes on after it, and is DEAD after the next one" },
  },
  {
    name: "a retry runs the items that it keeps again",
    file: `${DOMAIN}/map-counts.ts`,
    find: '[["SUCCEEDED", keptItems(kept, node)]]',
    replace: "[]",
    why: "items that have succeeded run twice",
    test: { file: STORY, name: "runs the items that a retry does not keep" },
  },
  {
    name: "what follows from a map does not depend on the ends of its items",
    file: `${RUNS}/advance.ts`,
    find: '  if (run.progress.stateOf(node) !== "LIVE") writeRun(step, run, ends);\n',
    replace: "",
    why: "a node exists although the store has refused the result of an item before it",
    test: { file: STORY, name: "creates what follows only if the store writes the ends of its last items" },
  },
  {
    name: "a map that its run ends says nothing to the nodes behind it",
    file: `${DOMAIN}/readiness.ts`,
    find: "    if (outcome !== null) return this.#picture.spread(node, change);\n",
    replace: "    if (outcome !== null) return;\n",
    why: "the nodes behind the map stay BLOCKED, and a clean-up does not run",
    test: {
      file: `${DOMAIN}/map-progress.property.test.ts`,
      name: "tells the nodes behind a map of an end that comes with the failure of the run, before the first item",
    },
  },
  {
    name: "a retry counts a kept map without SUCCEEDED items among the nodes that have a result",
    file: "packages/server/src/api/workflows/workflow-retrier.ts",
    find: '    if (picture.graph.isMap(number)) of(run).items.set(number, "");\n',
    replace: "",
    why: "the retry is refused, because the store finds no result of the map",
    test: {
      file: "packages/server/src/api/workflows/maps.test.ts",
      name: "whose map has succeeded without items keeps it in a retry, and in a retry of the retry",
    },
  },
];
