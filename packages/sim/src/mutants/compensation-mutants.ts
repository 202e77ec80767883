import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const STORY = `${RUNS}/compensate.test.ts`;
const COMPENSATION = "packages/server/src/domain/workflow/compensation.ts";

/** Mutants in the compensation of workflow runs. */
export const compensationMutants: readonly Mutant[] = [
  {
    name: "compensations do not wait for those of later nodes",
    file: COMPENSATION,
    find: "Uint32Array.from({ length: nodeCount }, (_, node) => edgesOf(graph.children, node).length)",
    replace: "new Uint32Array(nodeCount)",
    why: "the flight is cancelled before the hotel that depends on it",
    test: { file: STORY, name: "compensates its nodes in reverse, each once the end of the one before is durable" },
  },
  {
    name: "a next owner forgets compensations that have ended",
    file: `${RUNS}/compensate.ts`,
    find: 'if (isEnded) ended.push([of, (end?.state ?? state) === "SUCCEEDED"]);',
    replace: "if (isEnded) continue;",
    why: "a node is compensated for the second time after a takeover",
    test: { file: STORY, name: "goes on with a next owner from the rows, and does nothing twice" },
  },
  {
    name: "a failed compensation counts as one that succeeded",
    file: `${RUNS}/compensate.ts`,
    find: 'succeeded: end === "SUCCEEDED"',
    replace: "succeeded: true",
    why: "nobody learns that a node is not undone",
    test: { file: STORY, name: "is DEAD for that reason, and still does the compensations that do not wait for it" },
  },
  {
    name: "a run is compensated while a node is live",
    file: `${RUNS}/advance.ts`,
    find: "!run.progress.isOver",
    replace: "run.progress.ready > 0",
    why: "a compensation undoes what a node still works with",
    test: { file: STORY, name: "waits with compensations while a node is live" },
  },
  {
    name: "the deadline cancels a run that compensates its nodes",
    file: `${RUNS}/advance.ts`,
    find: "  if (run.undo !== null) return compensate(step, run, run.undo);\n",
    replace: "",
    why: "the compensation stands still, and the row of the run says another end",
    test: { file: STORY, name: "goes on after the deadline of the run" },
  },
  {
    name: "compensations start although the run is paused",
    file: `${RUNS}/compensate.ts`,
    find: "  if (isHeld(run)) return;\n",
    replace: "",
    why: "an operator who pauses a run cannot stop what it undoes",
    test: { file: STORY, name: "starts nothing while the run is paused" },
  },
  {
    name: "a cancelled run is compensated although nobody asked for that",
    file: `${RUNS}/compensate.ts`,
    find: '(node) => outcome.state === "DEAD" || definitions[node]?.compensate?.onCancel,',
    replace: "() => true,",
    why: "a cancellation undoes work that was to stay",
    test: { file: STORY, name: "is not compensated if its workflow does not ask for that" },
  },
  {
    name: "a retry keeps nodes that were undone",
    file: "packages/server/src/api/workflows/workflow-retrier.ts",
    find: "new Set([...again, ...undone])",
    replace: "again",
    why: "the retry works with a booking that was cancelled",
    test: {
      file: "packages/server/src/api/workflows/compensation.test.ts",
      name: "runs the nodes again that were undone",
    },
  },
];
