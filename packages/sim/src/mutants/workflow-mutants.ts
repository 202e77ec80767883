import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const STORY = `${RUNS}/runs.test.ts`;
const KEPT = "packages/server/src/domain/workflow/kept-nodes.ts";
const KEPT_STORY = "packages/server/src/domain/workflow/kept-nodes.test.ts";
const KEPT_GOES_ON =
  "that keeps nodes of an earlier run goes on after them, by their branches, also with its next owner";

const REFERENCES = "packages/server/src/scheduler/reading/references";
const OUTBOUND = "packages/server/src/scheduler/outbound-assignments";

/** Mutants in the way of workflow runs. */
export const workflowMutants: readonly Mutant[] = [
  {
    name: "a node is created whether or not its parents' ends are written",
    file: `${RUNS}/advance.ts`,
    find: "after: [...endsBefore(step, run, node)]",
    replace: "after: []",
    why: "a node exists although the store has refused the result of its parent",
    test: {
      file: STORY,
      name: "creates a node in the commit that ends its last parent, and only if the store writes that end",
    },
  },
  {
    name: "a node is created if one of its parents' ends is written",
    file: `${RUNS}/advance.ts`,
    find: "  return ends;",
    replace: "  return new Set([...ends].slice(0, 1));",
    why: "a node exists although the store has refused the result of its second parent",
    test: { file: STORY, name: "names all parents that end in the commit of the node's creation" },
  },
  {
    name: "a node that follows from a skip does not depend on the end that led to the skip",
    file: `${RUNS}/advance.ts`,
    find: "    for (const cause of causes?.get(parent) ?? []) ends.add(cause);\n",
    replace: "",
    why: "a node exists although the store has refused the result whose branch skipped its parent",
    test: { file: STORY, name: "makes a node that follows from a skip depend on the ends that led to the skip" },
  },
  {
    name: "the end of a node of a run that is not in memory is forgotten",
    file: `${RUNS}/advance.ts`,
    find: "  if (run === undefined) return runs.expect(end.run);",
    replace: "  if (run === undefined) return;",
    why: "the run stands still until its shard has another owner",
    test: { file: STORY, name: "is read again when a node ends while the run is not in memory" },
  },
  {
    name: "a run that was read keeps the mode of its row",
    file: `${RUNS}/advance.ts`,
    find: 'if (run.mode === "RUNNING" && run.progress.mode === "FAILING") writeMode(step, run, "FAILING");',
    replace: "",
    why: "after the store has refused a result, nodes are skipped although the row says that the run goes on",
    test: {
      file: STORY,
      name: "that an earlier owner left without a next node goes on, and one whose nodes have all ended ends",
    },
  },
  {
    name: "nodes that follow from a refused end stay in the next batch",
    file: `${RUNS}/advance.ts`,
    find: "  next.withdraw(runId);\n",
    replace: "",
    why: "a node exists although the result that it follows from was refused",
    test: { file: STORY, name: "takes back nodes of the next batch that follow from a refused end" },
  },
  {
    name: "a takeover forgets the open runs",
    file: "packages/server/src/engine/ownership/takeover.ts",
    find: "  for (const run of recovered.runs ?? []) state.runs.expect(run);\n",
    replace: "",
    why: "a run whose owner was lost between the end of a node and the creation of the next stands still",
    test: { file: STORY, name: "comes with its shards at a takeover" },
  },
  {
    name: "a retry keeps nodes that depend on one which runs again",
    file: KEPT,
    find: " || edgesOf(parents, node).some((edge) => anew.has(nodeOfEdge(edge)))",
    replace: "",
    why: "the retry ends with results that follow from results which it has replaced",
    test: { file: KEPT_STORY, name: "are none of those that run again, nor any that depends on them" },
  },
  {
    name: "a retry keeps DEAD nodes",
    file: KEPT,
    find: 'return state === "SUCCEEDED" ||',
    replace: 'return state === "SUCCEEDED" || state === "DEAD" ||',
    why: "the node that failed counts as SUCCEEDED and does not run again",
    test: { file: KEPT_STORY, name: "are those that SUCCEEDED" },
  },
  {
    name: "a retry takes a node that the failure of the run has skipped for one that its edges skip",
    file: KEPT,
    find: ' && progress.whySkipped(node)?.kind === "DEAD_EDGES"',
    replace: "",
    why: "a clean-up that ran because of the failure does not run again after the node that it cleans up for",
    test: {
      file: KEPT_STORY,
      name: "are no nodes that follow from the end of a node which the failure of the run has skipped",
    },
  },
  {
    name: "the branch of a kept node is lost",
    file: KEPT,
    find: 'yield [node, { state: "SUCCEEDED", branch }];',
    replace: 'yield [node, { state: "SUCCEEDED", branch: null }];',
    why: "the retry skips the nodes of the branch that was chosen",
    test: { file: STORY, name: KEPT_GOES_ON },
  },
  {
    name: "an owner that reads a retry forgets the nodes that it keeps",
    file: `${RUNS}/load.ts`,
    find: "  yield* keptOutcomes(kept);\n",
    replace: "",
    why: "nodes that were kept run again",
    test: { file: STORY, name: KEPT_GOES_ON },
  },
  {
    name: "a retry of a retry looks for every kept node in the run before",
    file: "packages/server/src/api/workflows/workflow-retrier.ts",
    find: "picture.kept.get(node) ?? own;",
    replace: "own;",
    why: "the result of a node is looked for in a run that has no execution of it",
    test: {
      file: "packages/server/src/api/workflows/retry.test.ts",
      name: "of a retry keeps nodes of both runs, each with the run that has its execution",
    },
  },
  {
    name: "a reference gets the result of the node before its own",
    file: `${REFERENCES}.ts`,
    find: "nodeExecutionId(this.#run, from, null, 0)",
    replace: "nodeExecutionId(this.#run, Math.max(0, from - 1), null, 0)",
    why: "a handler works on the result of another node",
    test: {
      file: `${REFERENCES}.test.ts`,
      name: "get the result of their node, or the part at their path, with its bytes as they are",
    },
  },
  {
    name: "an index in a path counts from one",
    file: "packages/server/src/ports/references/json-value.ts",
    find: "items[step]",
    replace: "items[step - 1]",
    why: "a handler works on another item of a list",
    test: {
      file: "packages/server/src/ports/references/json-value.test.ts",
      name: "is that of the parsed value, for every path into any value",
    },
  },
  {
    name: "a reference that leads nowhere gives null",
    file: `${REFERENCES}.ts`,
    find: "if (slice === null) return this.#notFound(edit);",
    replace: "if (slice === null) return this.put(edit, NULL);",
    why: "a handler works on null instead of the value that its author had in mind",
    test: {
      file: `${REFERENCES}.test.ts`,
      name: "that lead nowhere in a result that is there are named with node and path",
    },
  },
  {
    name: "a payload is sent with its references",
    file: "packages/server/src/scheduler/reading/payloads.ts",
    find: "return runs.size === 0 ? [] : await this.#fill(assigns, runs);",
    replace: "return [];",
    why: "the worker gets bytes that are no JSON",
    test: {
      file: "packages/server/src/scheduler/reading/payloads.test.ts",
      name: "have the values of references, whether they came with a hint or were read",
    },
  },
  {
    name: "the machine does not hear of an attempt that cannot be sent",
    file: `${OUTBOUND}.ts`,
    find: "      this.#deps.give(held.map(({ assign, reason, error }) => ({ ...tokenOf(assign), reason, error })));\n",
    replace: "",
    why: "a node whose reference leads nowhere is assigned for ever",
    test: {
      file: `${OUTBOUND}.test.ts`,
      name: "does not leave if its payload cannot be made: the machine hears of it, and its slot is given back",
    },
  },
  {
    name: "results are kept when the store may have gone back",
    file: `${REFERENCES}.ts`,
    find: "    this.#kept = new KeptValues();\n",
    replace: "",
    why: "after the store has lost the end of a node, its next result differs from the one that later nodes get",
    test: { file: `${REFERENCES}.test.ts`, name: "read a result again when they have forgotten it" },
  },
  {
    name: "a node whose references lead nowhere is tried again",
    file: "packages/server/src/engine/attempts/attempts.ts",
    find: "error, advice, reason }",
    replace: "error, advice: null, reason }",
    why: "attempts are spent on a payload that cannot be made",
    test: {
      file: "packages/server/src/engine/attempts/attempts.test.ts",
      name: "makes its execution DEAD at once, whatever its budget, and leaves its place to others",
    },
  },
  {
    name: "a run that was read again ends by the answer to an earlier question",
    file: `${RUNS}/end.ts`,
    find: 'if (run?.output === "ASKED") endRun',
    replace: "if (run !== undefined) endRun",
    why: "the end of a node was refused after the result of the run was made of it",
    test: { file: STORY, name: "asks again when it was read again, and ends by the answer to that question only" },
  },
  {
    name: "a run that was read when its nodes had ended waits for a commit",
    file: `${RUNS}/load.ts`,
    find: "  if (run.overIn !== null && run.revision === revision) endRun(step, run);\n",
    replace: "",
    why: "the run stands still until something else of the same owner is written",
    test: {
      file: STORY,
      name: "that an earlier owner left without a next node goes on, and one whose nodes have all ended ends",
    },
  },
];
