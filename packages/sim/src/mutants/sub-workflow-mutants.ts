import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const STORIES = `${RUNS}/sub-workflows.test.ts`;
const SIM_STORE = "packages/server/src/adapters/simulated/sim-store.test.ts";
const REFERENCES = "packages/server/src/scheduler/reading/references";

/** Mutants in sub-workflows, whose runs are the executions of nodes. */
export const subWorkflowMutants: readonly Mutant[] = [
  {
    name: "the end of a sub-workflow is told to nobody",
    file: `${RUNS}/end.ts`,
    find: "  tellEnd(step, row, end.state, {});\n",
    replace: "  if (!isNode(row)) tellEnd(step, row, end.state, {});\n",
    why: "its parent waits for ever, or until something else has it read again",
    test: { file: STORIES, name: "is born as a run, is opened like one, and its end is that of the node" },
  },
  {
    name: "a sub-workflow outlives its parent",
    file: `${RUNS}/cancel-nodes.ts`,
    find: "    return step.state.runs.stop(entry.id, entry.row.shard, reasonOf(run));\n",
    replace: "    return;\n",
    why: "a parent that was cancelled waits for an open sub-workflow which it does not have in memory",
    test: { file: STORIES, name: "reads a sub-workflow that is not in memory, and one that has left memory since" },
  },
  {
    name: "a sub-workflow in memory is not asked to end",
    file: `${RUNS}/cancel-nodes.ts`,
    find: "      runs.stop(id, run.shard, reasonOf(run));\n",
    replace: "",
    why: "a parent that was cancelled waits until its sub-workflow ends by itself",
    test: { file: STORIES, name: "waits for the end of the sub-workflow, whose nodes it cancels" },
  },
  {
    name: "the wish to end a sub-workflow is forgotten when it leaves memory",
    file: `${RUNS}/runs.ts`,
    find: "    this.toCount.delete(run);\n",
    replace: "    this.toCount.delete(run);\n    this.stopped.delete(run.id);\n",
    why: "the end of the sub-workflow has another reason than its parent gave",
    test: { file: STORIES, name: "reads a sub-workflow that is not in memory, and one that has left memory since" },
  },
  {
    name: "the wish to end a sub-workflow stays with a former owner",
    file: "packages/server/src/engine/ownership/release-shards.ts",
    find: "[runs.ending, runs.fetching, runs.stopped]",
    replace: "[runs.ending, runs.fetching]",
    why: "an owner that gets the shard back may cancel a run that its parent has not asked to end, and its memory grows",
    test: { file: STORIES, name: "forgets whom it asked to end when another owner has the shard" },
  },
  {
    name: "the pause of a parent queues its open sub-workflow",
    file: "packages/server/src/engine/commands.ts",
    find: '  if (entry?.row.queue === "OPEN") forget(step, entry);\n',
    replace: "",
    why: "a run that is open waits among those that are to be opened, and is opened twice",
    test: { file: STORIES, name: "lets an open sub-workflow go on, and starts nothing after it" },
  },
  {
    name: "the run of a sub-workflow is a dead letter of its own",
    file: `${RUNS}/end.ts`,
    find: '  if (end.state === "DEAD" && !isNode(row)) step',
    replace: '  if (end.state === "DEAD") step',
    why: "the metrics count a dead letter that no list has",
    test: { file: STORIES, name: "is DEAD when its run is, which is no dead letter of its own, and the parent fails" },
  },
  {
    name: "a second creation of a sub-workflow sets its run back",
    file: "packages/server/src/adapters/simulated/rows/commit-runs.ts",
    find: "    if (message !== null) outcome.refused.push({ id, message });\n",
    replace:
      "    if (birth.workflow !== undefined) putChildRun(data, nodeRow(data, birth, { updatedAt: data.now(), commitNumber }), birth.workflow);\n    if (message !== null) outcome.refused.push({ id, message });\n",
    why: "the run of a sub-workflow that has begun forgets its mode and its pause",
    test: { file: SIM_STORE, name: "creates no run of a node that it does not create" },
  },
  {
    name: "a sub-workflow is born without its run",
    file: `${RUNS}/births.ts`,
    find: "workflow === undefined ? birth : { ...birth, workflow }",
    replace: "birth",
    why: "the execution waits to be opened, and no read finds a run to open",
    test: { file: STORIES, name: "is born as a run, is opened like one, and its end is that of the node" },
  },
  {
    name: "the input of a sub-workflow is taken for its result",
    file: `${REFERENCES}.ts`,
    find: "  return `input ${run}`;",
    replace: "  return run;",
    why: "nodes after a sub-workflow get what it was given",
    test: { file: `${REFERENCES}.test.ts`, name: "tell the input of a sub-workflow's run from the result of its node" },
  },
  {
    name: "the item of a map does not reach the input of its sub-workflow",
    file: `${REFERENCES}.ts`,
    find: "({ run, item, stored: nested.get(id) ?? NULL })",
    replace: "({ run, item: item && 0, stored: nested.get(id) ?? NULL })",
    why: "the sub-workflows of all items run with the first one",
    test: {
      file: `${REFERENCES}.test.ts`,
      name: "get the input of a sub-workflow's run: the payload of its node, with the values of the run of that node",
    },
  },
  {
    name: "nodes of a sub-workflow go before the outermost run",
    file: "packages/server/src/adapters/sql/workflows/retire-runs.ts",
    find: "CASE WHEN ${run}.node >= 0 THEN ${ofOutermost(run, condition, level + 1)} ELSE",
    replace: "CASE WHEN false THEN ${ofOutermost(run, condition, level + 1)} ELSE",
    why: "a workflow that runs for months loses what its early sub-workflows did",
    test: {
      file: "packages/server/src/adapters/sql/schema/retention.test.ts",
      name: "keeps the nodes of a sub-workflow for as long as the outermost run, and its graph for as long as the job",
    },
  },
  {
    name: "graphs of sub-workflows go before their job",
    file: "packages/server/src/adapters/sql/workflows/retire-runs.ts",
    find: "coalesce(g.of_job, g.job_id)",
    replace: "g.job_id",
    why: "no owner can read the run of a sub-workflow that is open for months",
    test: {
      file: "packages/server/src/adapters/sql/schema/retention.test.ts",
      name: "keeps the nodes of a sub-workflow for as long as the outermost run, and its graph for as long as the job",
    },
  },
  {
    name: "an end outlives the loss of its shard in the same step",
    file: "packages/server/src/engine/ownership/release-shards.ts",
    find: "  keep(runs.ended, ({ shard }) => !shards.has(shard));\n",
    replace: "",
    why: "the run that is read with the shard again goes on as if a node had ended that still runs",
    test: {
      file: "packages/server/src/engine/runs/load.test.ts",
      name: "forgets an end whose shard is lost in the same step, because no commit writes it",
    },
  },
];
