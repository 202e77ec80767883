import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const OPENINGS = `${RUNS}/open.test.ts`;
const STARTS = "packages/testkit/src/workflow-starts.test.ts";
const OPENED = "is opened in the commit that creates its first nodes, and its deadline counts from then";
const ONE_BY_ONE = "holds a run back until the one before has ended";

/** Mutants in the way of workflow runs that start later. */
export const workflowStartMutants: readonly Mutant[] = [
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
    file: `${RUNS}/births.ts`,
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
    find: " || superseded.has(id)",
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
  {
    name: "a signal to a node of a run that waits is lost",
    file: `${RUNS}/load.ts`,
    find: "...sent.map(({ executionId }) => executionId)",
    replace: "...[]",
    why: "the handler waits for a signal that was sent before its workflow started",
    test: { file: OPENINGS, name: "keeps signals to its nodes until it creates them, and is not paused" },
  },
  {
    name: "a retry passes its concurrency key by",
    file: "packages/server/src/api/workflows/workflow-retrier.ts",
    find: "const isOpen = opensAtOnce(job, createdAt, picture, begin.first) && !begin.hasMaps;",
    replace: "const isOpen = definition !== null;",
    why: "more runs of a key are open than its limit allows",
    test: {
      file: "packages/server/src/api/workflows/retry.test.ts",
      name: "waits for its concurrency key with the nodes that it keeps, and is not paused until it has started",
    },
  },
];
