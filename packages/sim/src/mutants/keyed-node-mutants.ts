import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const STORIES = `${RUNS}/keyed-nodes.test.ts`;
const SIM_STORE = "packages/server/src/adapters/simulated/sim-store.test.ts";

/** Mutants in the way of nodes with concurrency keys, whose executions are in the shards of their keys. */
export const keyedNodeMutants: readonly Mutant[] = [
  {
    name: "the end of a keyed node is told before it is durable",
    file: "packages/server/src/adapters/simulated/rows/commit-runs.ts",
    find: "const isJustified = isEnd ? changed.has(command.executionId) : !missedRuns.includes(run);",
    replace: "const isJustified = isEnd || !missedRuns.includes(run);",
    why: "a run goes on after an end that the store has not written",
    test: { file: SIM_STORE, name: "tells nothing of an end that is missed, refused or fenced" },
  },
  {
    name: "the end of a keyed node is applied twice",
    file: `${RUNS}/keyed-nodes.ts`,
    find: "  if (!isLive(run, { node, item })) return;\n",
    replace: "",
    also: [
      {
        file: `${RUNS}/advance.ts`,
        find: "  if (isDurable && !isLive(run, end)) return;\n",
        replace: "",
      },
    ],
    why: "the machine fails when it hears of an end that the read of the run has shown",
    test: { file: STORIES, name: "has its end applied after a read that shows it, and after one that does not" },
  },
  {
    name: "the end of a keyed node is forgotten while its run is read",
    file: `${RUNS}/load.ts`,
    find: "  endsLoaded(step, run);\n",
    replace: "  dropEnds(step, run.id);\n",
    why: "the read may be older than the end, and the run then waits for a node that has ended",
    test: { file: STORIES, name: "has its end applied after a read that shows it, and after one that does not" },
  },
  {
    name: "a command about a keyed node's end outlives its run",
    file: `${RUNS}/load.ts`,
    find: "  runs.superseded.delete(id);\n  dropEnds(step, id);\n",
    replace: "  runs.superseded.delete(id);\n",
    why: "the inbox fills with commands that nobody needs",
    test: { file: STORIES, name: "leaves no command behind when its run is final" },
  },
  {
    name: "the cancellation of a run does not reach its keyed nodes",
    file: `${RUNS}/keyed-nodes.ts`,
    find: "  step.batch.addCommand(run.shard, { run: run.id, command: { ...command, shard: shardIn(run, node), executionId: id } });",
    replace:
      '  if (run.mode === "RUNNING") step.batch.addCommand(run.shard, { run: run.id, command: { ...command, shard: shardIn(run, node), executionId: id } });',
    why: "a cancelled run stays open for as long as its nodes run, or wait for their keys",
    test: { file: STORIES, name: "waits until the owner of the key has cancelled the node" },
  },
  {
    name: "keyed nodes beyond the commands of a batch are not cancelled",
    file: `${RUNS}/keyed-nodes.ts`,
    find: "return void step.state.runs.untold.add(run);",
    replace: "return;",
    why: "a run with many such nodes never ends",
    test: { file: STORIES, name: "is asked for with 1,000 commands a commit at most" },
  },
  {
    name: "a run is final while a keyed node lives",
    file: `${RUNS}/keyed-nodes.ts`,
    find: "  run.toldToEnd.add(id);\n",
    replace: '  run.toldToEnd.add(id);\n  run.progress.ended(node, { state: "CANCELLED", branch: null });\n',
    why: "the cancellation of a run is confirmed while a handler of it runs on",
    test: { file: STORIES, name: "waits until the owner of the key has cancelled the node" },
  },
  {
    name: "the owner of a key asks for runs that it does not own",
    file: "packages/server/src/engine/queue/intake.ts",
    find: "  if (isNodeBesideRun(row)) {",
    replace: "  if (isNodeBesideRun({ ...row, concurrencyKey: null })) {",
    why: "each keyed node costs reads of a run of another shard",
    test: { file: STORIES, name: "is not asked for its run where another owner has the run" },
  },
  {
    name: "a refused result of a keyed node is told to nobody",
    file: "packages/server/src/engine/attempts/dead-letter-refused.ts",
    find: "      next.addCommand(shard, {",
    replace: "      answered.addCommand(shard, {",
    why: "the run waits for a node that is DEAD",
    test: { file: STORIES, name: "has its end told as DEAD if the store refuses its result" },
  },
];
