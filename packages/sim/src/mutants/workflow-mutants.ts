import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const STORY = `${RUNS}/runs.test.ts`;
const OPENINGS = `${RUNS}/open.test.ts`;
const STARTS = "packages/testkit/src/workflow-starts.test.ts";
const OPENED = "is opened in the commit that creates its first nodes, and its deadline counts from then";
const ONE_BY_ONE = "holds a run back until the one before has ended";

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
    name: "a run that waits is opened although it is open",
    file: `${RUNS}/load.ts`,
    find: 'else if (found.row.queue === "OPEN") {',
    replace: 'else if (found.row.queue === "OPEN" && !runs.openings.has(id)) {',
    why: "a late hint has a run opened twice",
    test: { file: OPENINGS, name: "is not opened again by a late hint" },
  },
  {
    name: "the first nodes of a run are created whether or not it is opened",
    file: `${RUNS}/advance.ts`,
    find: '  if (changes.get(id)?.queue === "OPEN") ends.add(id);\n',
    replace: "",
    why: "nodes exist of a run that the store has not opened",
    test: { file: OPENINGS, name: OPENED },
  },
  {
    name: "the deadline of a run counts from its plan",
    file: `${RUNS}/open.ts`,
    find: "row.dueAt = step.now + row.policy.timeoutMs;",
    replace: "row.dueAt = row.scheduledAt + row.policy.timeoutMs;",
    why: "a run that waited for its concurrency key has less time than its workflow says",
    test: { file: OPENINGS, name: OPENED },
  },
  {
    name: "a run opens some milliseconds ahead of its time",
    file: "packages/server/src/engine/queue/intake.ts",
    find: "  if (isRun(row)) return 0;\n",
    replace: "",
    why: "nodes run before the time at which their workflow starts",
    test: { file: OPENINGS, name: "is opened when it is due, and not a moment before" },
  },
  {
    name: "a run that is about to open has no place of its concurrency key",
    file: `${RUNS}/open.ts`,
    find: "  holdKey(state, entry.row);\n",
    replace: "",
    why: "more runs of a key are open than its limit allows",
    test: { file: OPENINGS, name: ONE_BY_ONE },
  },
  {
    name: "the end of a run does not free its concurrency key",
    file: `${RUNS}/end.ts`,
    find: "  freeKey(step.state, run.id);\n",
    replace: "",
    why: "nothing of the key runs until its shard has another owner",
    test: { file: OPENINGS, name: ONE_BY_ONE },
  },
  {
    name: "a takeover forgets the concurrency keys of open runs",
    file: "packages/server/src/engine/ownership/takeover.ts",
    find: "  for (const run of recovered.keyedRuns ?? []) holdKey(state, run);\n",
    replace: "",
    why: "a next owner lets more runs of a key open than its limit allows",
    test: { file: OPENINGS, name: "counts open runs from a takeover on, before anything is opened" },
  },
  {
    name: "an open run is not cancelled for a newer instant of its job",
    file: `${RUNS}/advance.ts`,
    find: " || state.runs.superseded.has(id)",
    replace: "",
    why: "with CANCEL_PREVIOUS, a run that takes long holds up the schedule of its workflow",
    test: { file: STARTS, name: "with overlap CANCEL_PREVIOUS counts an open run as a running execution" },
  },
  {
    name: "a planned instant of a workflow is an execution of a handler",
    file: "packages/server/src/engine/recurring/created-occurrence.ts",
    find: "    ...(definition.recurrence?.startsWorkflow === true && { node: RUN_NODE }),\n",
    replace: "",
    why: "a recurring workflow waits for a worker with the handler workflow",
    test: { file: STARTS, name: "starts a run at each instant, and its ledger says so" },
  },
];
