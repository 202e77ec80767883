import type { Mutant } from "./mutant.ts";

const RUNS = "packages/server/src/engine/runs";
const DOMAIN = "packages/server/src/domain/workflow";
const STORY = `${RUNS}/spawn.test.ts`;
const READS = "packages/server/src/api/workflows/added-nodes.test.ts";
const PROPERTY = {
  file: `${DOMAIN}/spawned-parts.property.test.ts`,
  name: "the states of a run with parts follow from the rows, whatever adds them and in whatever order nodes end",
};

/** Mutants in the way of nodes that handlers add to their runs. */
export const spawnMutants: readonly Mutant[] = [
  {
    name: "the nodes behind a spawner do not wait for the nodes that it has added",
    file: `${DOMAIN}/picture.ts`,
    find: "return this.code(node) >= SUCCEEDED && !(this.#spawned?.isHeld(node) ?? false);",
    replace: "return this.code(node) >= SUCCEEDED;",
    why: "a node runs before the work that is to end first",
    test: PROPERTY,
  },
  {
    name: "a spawner whose added node has failed counts as SUCCEEDED for the nodes behind it",
    file: `${DOMAIN}/picture.ts`,
    find: "return code === SUCCEEDED && this.#spawned?.hasFailed(node) === true ? DEAD : code;",
    replace: "return code;",
    why: "a run that continues goes on without the work that has failed",
    test: { file: STORY, name: "fails for the nodes after its own with one of them" },
  },
  {
    name: "detached nodes hold up the nodes behind their spawner",
    file: `${DOMAIN}/graph.ts`,
    find: "return ((this.flags[node] as number) & DETACHED) === 0 ? this.spawnerOf(node) : -1;",
    replace: "return this.spawnerOf(node);",
    why: "the nodes behind the spawner wait for work that nobody needs",
    test: { file: STORY, name: "lets the nodes after its own wait for all of them but the detached ones" },
  },
  {
    name: "an added node is created whether or not the end of its spawner is written",
    file: `${RUNS}/births.ts`,
    find: "  if (graph.spawnerOf(node) >= 0) addEnd(graph.spawnerOf(node));\n",
    replace: "",
    why: "a node of no part runs, after an end that the store has refused",
    test: {
      file: STORY,
      name: "has them written with the end of its node, and the first of them created only if that is written",
    },
  },
  {
    name: "a node behind a spawner is created whether or not the end of the last added node is written",
    file: `${RUNS}/births.ts`,
    find: "for (const parent of heldBy(graph, nodeOfEdge(edge))) addEnd(parent);",
    replace: "addEnd(nodeOfEdge(edge));",
    why: "a node runs although a node before it was refused and is DEAD",
    test: { file: STORY, name: "lets the nodes after its own wait for all of them but the detached ones" },
  },
  {
    name: "a spawner that ends while its run is not in memory adds nothing",
    file: "packages/server/src/engine/attempts/attempts.ts",
    find: "if (planned === null) return finishLater(step.state, from, found.entry.row, report);",
    replace: "if (planned === null) return endAttempt(step, found.entry, assigned, end);",
    why: "work is lost without a trace after each takeover",
    test: { file: STORY, name: "waits for the run of its node, and is acknowledged then" },
  },
  {
    name: "the numbers of a part are taken again",
    file: `${RUNS}/spawn.ts`,
    find: "  run.nextNode = first + nodes;\n",
    replace: "",
    why: "nodes of two handlers have one number, and one of them never runs",
    test: { file: STORY, name: "numbers the nodes of two handlers that end in one step one behind the other" },
  },
  {
    name: "the end that replaces a refused one adds the nodes",
    file: "packages/server/src/engine/attempts/dead-letter-refused.ts",
    find: "function asDeadLetter({ spawn: _spawn, ...change }: RowChange, message: string): RowChange {",
    replace: "function asDeadLetter(change: RowChange, message: string): RowChange {",
    why: "a DEAD node has added nodes",
    test: { file: STORY, name: "adds none if the store refuses the end of its node" },
  },
  {
    name: "a read that does not show the nodes which a handler has added counts",
    file: `${RUNS}/advance.ts`,
    find: "  recentWrites.add(runId, next.number);\n",
    replace: "",
    why: "the nodes behind the spawner run at once, and the added ones never",
    test: { file: STORY, name: "is read again if it left memory in the step that ends the handler's node" },
  },
  {
    name: "an owner takes any number of added nodes",
    file: `${DOMAIN}/spawned-parts.ts`,
    find: "  if (count > WORKFLOW_SPAWNED_MAX) {",
    replace: "  if (count > Number.POSITIVE_INFINITY) {",
    why: "a handler that adds itself again and again fills the memory of its owner",
    test: { file: STORY, name: "fails if the run cannot take the nodes, and not again" },
  },
  {
    name: "the handler of a node with a concurrency key may add nodes",
    file: `${RUNS}/spawn.ts`,
    find: "  if (isKeyedNode(row))\n",
    replace: "  if (isKeyedNode({ ...row, concurrencyKey: null }))\n",
    why: "the owner of the key does not have the run, and its end of the node does not bring the nodes to the run",
    test: {
      file: STORY,
      name: "of a node with a concurrency key fails, because the owner of the key does not know the run",
    },
  },
  {
    name: "the store writes the nodes of a handler whose end it has missed",
    file: "packages/server/src/adapters/sql/workflows/spawned.ts",
    find: "  ) p WHERE (p.id IN (SELECT u.id FROM updated u)) IS TRUE\n), part_payload",
    replace: "  ) p\n), part_payload",
    why: "a run has nodes that no attempt has added",
    test: {
      file: "packages/server/src/adapters/sql/sql-store.test.ts",
      name: "writes no part of a spawner whose end is missed, or in a shard that another node owns",
    },
  },
  {
    name: "a retry keeps a node although an added node before it runs again",
    file: `${DOMAIN}/kept-nodes.ts`,
    find: "for (let of = node; of >= 0; of = graph.holderOf(of)) anew.add(of);",
    replace: "anew.add(node);",
    why: "the results of a retry are from before and after the repair",
    test: { file: `${DOMAIN}/kept-nodes.test.ts`, name: "are not those behind a spawner whose added node runs again" },
  },
  {
    name: "streams of a run tell nothing of nodes that were added after their beginning",
    file: "packages/server/src/api/workflows/told-nodes.ts",
    find: "    this.#grow(graph.nodeCount);\n",
    replace: "",
    why: "people who follow a run do not see the work that its handlers have found",
    test: { file: READS, name: "tell the states of nodes that were added after the stream had begun" },
  },
  {
    name: "the graph of a run shows numbers that no node has",
    file: "packages/server/src/api/workflows/graph-route.ts",
    find: ".filter((node) => !picture.graph.isVoid(node))",
    replace: "",
    why: "a retry shows nodes without a name",
    test: { file: READS, name: "leave out the numbers that no node has" },
  },
  {
    name: "nodes that are added after the end of their attempt are lost without a word",
    file: "packages/sdk/src/handlers/attempt.ts",
    find: '    if (this.#attempt.phase === "OVER") throw spawnedTooLate();\n',
    replace: "",
    why: "work that a handler forgot to await is never done, and nothing says so",
    test: { file: "packages/sdk/src/handlers/spawn.test.ts", name: "is told that its attempt has ended" },
  },
];
