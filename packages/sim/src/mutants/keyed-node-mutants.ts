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
    find: "  runs.stopped.delete(id);\n  dropEnds(step, id);\n",
    replace: "  runs.stopped.delete(id);\n",
    why: "the inbox fills with commands that nobody needs",
    test: { file: STORIES, name: "leaves no command behind when its run is final" },
  },
  {
    name: "the cancellation of a run does not reach its keyed nodes",
    file: `${RUNS}/keyed-nodes.ts`,
    find: "  run.toldToEnd.add(id);\n  step.batch",
    replace: '  run.toldToEnd.add(id);\n  if (run.mode === "RUNNING") step.batch',
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
  {
    name: "the end of a keyed node is learned by its hint alone",
    file: "packages/server/src/scheduler/reading/hydrator.ts",
    find: '      return { kind: "COMMANDS", commands };',
    replace: '      return { kind: "COMMANDS", commands: commands.filter(({ kind }) => kind !== "NODE_ENDED") };',
    why: "a run waits for a node that has ended if the message about the end is lost",
    test: {
      file: "packages/server/src/scheduler/reading/hydrator.test.ts",
      name: "bring the end of a node with a concurrency key whose hint was lost",
    },
  },
  {
    name: "the ends of a map's keyed items are one command",
    file: "packages/server/src/engine/rows.ts",
    find: 'nodeCommandId("NODE_ENDED", run, node, item)',
    replace: 'nodeCommandId("NODE_ENDED", run, node, item === null ? null : 0)',
    why: "the inbox keeps the first end of several, and the map waits for items that have ended",
    test: { file: STORIES, name: "take turns at the key, and the map ends with the last of them" },
  },
  {
    name: "a keyed item that ends between the reads of its run counts twice",
    file: "packages/server/src/domain/workflow/map-items.ts",
    find: "      if (born[item] === 1) continue;\n",
    replace: "",
    why: "one DEAD item breaks a map that tolerates it",
    test: { file: STORIES, name: "count once, though a read shows them as live and as ended" },
  },
  {
    name: "keyed items of a failed map run on",
    file: `${RUNS}/advance.ts`,
    find: "  if (stopsItems) cancelItems(step, run, run.progress.itemsToCancel());\n}\n\n/** Applies the end of an item of a map. */",
    replace:
      "  if (stopsItems && !end.isDurable) cancelItems(step, run, run.progress.itemsToCancel());\n}\n\n/** Applies the end of an item of a map. */",
    why: "a failed run stays open for as long as its items wait for their key",
    test: { file: STORIES, name: "are cancelled by command when the map has failed" },
  },
  {
    name: "the end of a keyed compensation is applied twice",
    file: `${RUNS}/keyed-nodes.ts`,
    find: '  if (isCompensation(node)) return undo?.compensation.stateOf(nodeOfCompensation(node)) === "LIVE";\n',
    replace: "  if (isCompensation(node)) return undo !== null;\n",
    why: "the machine fails when it hears of the end of a compensation again",
    test: {
      file: STORIES,
      name: "has its end applied once if a read shows it before a command tells it",
    },
  },
  {
    name: "a pause parks keyed nodes",
    file: `${RUNS}/pause.ts`,
    find: "if (!isKeyed(run, node)) yield",
    replace: "yield",
    why: "the owner of the run writes a row that another owner writes too",
    test: { file: STORIES, name: "creates no further node, while those that exist go on to their ends" },
  },
  {
    name: "a run is paused in the commit that creates a keyed node of it",
    file: `${RUNS}/pause.ts`,
    find: "  const parking = new Set(run.uncommitted);",
    replace: "  const parking = new Set<ExecutionId>();",
    why: "a run that is paused starts a node",
    test: { file: STORIES, name: "is durable after the commit that creates such a node, and not with it" },
  },
];
