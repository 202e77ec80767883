import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const DOMAIN = "packages/server/src/domain/workflow";
const STORY = `${RUNS}/maps.test.ts`;
const READING = "packages/server/src/scheduler/reading";
const RESULTS = `${READING}/map-results.test.ts`;

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
  {
    name: "the results of a map are in the order of the ids of their executions",
    file: `${READING}/map-results.ts`,
    find: "of ids.slice(0, looked).entries()) {",
    replace: "of ids.slice(0, looked).sort().entries()) {",
    why: "a handler takes the result of one item for that of another",
    test: { file: RESULTS, name: "are a list in the order of the items, with null where an item has not succeeded" },
  },
  {
    name: "the results of a map leave out the items that have not succeeded",
    file: `${READING}/map-results.ts`,
    find: "      if (first + place > 0) pieces.push(COMMA);\n",
    replace: '      if (found?.state !== "SUCCEEDED") continue;\n      if (pieces.length > 1) pieces.push(COMMA);\n',
    why: "the results after a failed item move to other places",
    test: { file: RESULTS, name: "are a list in the order of the items, with null where an item has not succeeded" },
  },
  {
    name: "a retry takes the results of all items of a map from the earlier run",
    file: `${DOMAIN}/kept-nodes.ts`,
    find: "nodeExecutionId(elsewhere.get(item) ?? run, map, item, 0)",
    replace: "nodeExecutionId([...elsewhere.values()][0] ?? run, map, item, 0)",
    why: "items that the retry has run again have no result",
    test: {
      file: RESULTS,
      name: "come from the earlier run for the items that the run keeps, and from the run itself for the others",
    },
  },
  {
    name: "the list of results of a map is kept although an item goes on",
    file: `${READING}/references.ts`,
    find: '    if (read.value !== "TOO_LARGE" && !read.isFinal) this.#unsettled.add(read.value);\n',
    replace: "",
    why: "a later node gets null for an item that has succeeded since",
    test: { file: RESULTS, name: "are read once when every item has ended, and again while one has not" },
  },
  {
    name: "the reads of a map's results go on when they are too large",
    file: `${READING}/map-results.ts`,
    find: '    if (bytes > PAYLOAD_BYTES_MAX) return { value: "TOO_LARGE", isFinal: false };\n',
    replace: "",
    why: "100,000 results of 1 MiB fill the memory of the server",
    test: {
      file: RESULTS,
      name: "may have 1 MiB together with the payload, and the reads stop as soon as they have more",
    },
  },
];
