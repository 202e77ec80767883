import type { Mutant } from "./mutant.ts";

const ENGINE = "packages/server/src/engine";
const BORN = `${ENGINE}/runs/born-assigned.ts`;
const STORY = `${ENGINE}/runs/born-assigned.test.ts`;

/** Mutants in the way of nodes that are assigned in the commit that creates them. */
export const bornAssignedMutants: readonly Mutant[] = [
  {
    name: "a node is in memory before the store has created it",
    file: BORN,
    find: "  state.runs.unborn.set(row.id, entry);\n",
    replace:
      '  state.runs.unborn.set(row.id, entry);\n  entry.place = "ASSIGNED";\n  state.entries.set(row.id, entry);\n',
    why: "an attempt of a node starts although the store has refused the result that the node follows from",
    test: { file: STORY, name: "is not sent if the store has not created it, and may be created anew" },
  },
  {
    name: "a read brings in a node before the answer to the commit that assigns it",
    file: BORN,
    find: "  state.recentWrites.add(row.id, batch.number);\n",
    replace: "",
    why: "a command ends a node as if no worker had it, and the worker runs it",
    test: {
      file: STORY,
      name: "is not in memory, and its assignment not to be sent, before the store has created it",
    },
  },
  {
    name: "the number of an assignment that waits for its node is given back",
    file: `${ENGINE}/workers/credit.ts`,
    find: "    else if (!unborn.has(credit)) nothing.push(credit);",
    replace: "    else nothing.push(credit);",
    why: "the gateway drops the assignment of the node as one whose number is void",
    test: { file: STORY, name: "keeps its number at the gateway until the answer, and not longer" },
  },
  {
    name: "a node that is assigned at its creation ignores the pause of its pool",
    file: BORN,
    find: "  if (poolOf(state, pool).paused || !hasRoom(",
    replace: "  if (!hasRoom(",
    why: "a confirmed pause of a pool starts attempts",
    test: { file: STORY, name: "waits while its pool is paused, or the batch is full" },
  },
  {
    name: "nodes that are created go before work that waits",
    file: `${ENGINE}/machine.ts`,
    find: "  dispatch(view);\n  advanceRuns(view);\n",
    replace: "  advanceRuns(view);\n  assignBirths(view);\n  dispatch(view);\n",
    why: "running workflows starve jobs that are more urgent",
    test: { file: STORY, name: "leaves the worker to work that waits" },
  },
  {
    name: "nodes that are created get their workers in any order",
    file: BORN,
    find: "a.row.rank - b.row.rank || ",
    replace: "",
    why: "a node with a low priority starts before one with a high priority",
    test: { file: STORY, name: "waits if no worker is free, and the first by rank gets the last slot" },
  },
  {
    name: "a node is sent to a connection of its worker that has ended",
    file: BORN,
    find: "  const isThere = worker?.gateway === assigned.gateway && worker.account === assigned.account;",
    replace: "  const isThere = worker !== undefined;",
    why: "the gateway drops the assignment, and the node waits until the owner asks the worker for it",
    test: { file: STORY, name: "is released if the worker has a new connection meanwhile" },
  },
  {
    name: "a node that its run has stopped meanwhile starts",
    file: BORN,
    find: "  if (!isThere || isUnwanted) attemptGivenUp",
    replace: "  if (!isThere) attemptGivenUp",
    why: "a worker runs a node of a cancelled run only to be told to stop",
    test: { file: STORY, name: "does not start if its run was paused or cancelled meanwhile" },
  },
  {
    name: "the permit of a node that was not created is lost",
    file: BORN,
    find: "  permits.freed(entry.row);\n",
    replace: "",
    why: "a pool with a limit runs ever fewer attempts",
    test: { file: STORY, name: "takes a permit of its pool, and gives it back if it is not created" },
  },
  {
    name: "a new limit of a pool does not count nodes that are being created",
    file: `${ENGINE}/permits/steps.ts`,
    find: "  for (const { row } of state.runs.unborn.values()) if (row.pool === poolPermits.pool) poolPermits.adopted(row.shard);\n",
    replace: "",
    why: "a pool has more current attempts than its limit",
    test: { file: STORY, name: "counts for a limit of its pool that begins during the commit" },
  },
  {
    name: "the row of a node that was assigned at its creation never says when the attempt has started",
    file: `${ENGINE}/attempts/attempts.ts`,
    find: '(entry.rowState === "RUNNING" && !assigned.isNewborn && !isForced)',
    replace: '(entry.rowState === "RUNNING" && !isForced)',
    why: "the deadline of a node's first attempt is never watched",
    test: { file: STORY, name: "gets the start of its attempt into its row when the attempt has run for a second" },
  },
  {
    name: "nodes that leave the next batch keep their slots",
    file: BORN,
    find: "  for (const id of withdrawn) notBorn(state, id);\n",
    replace: "",
    why: "the numbers of their assignments are never given back",
    test: { file: STORY, name: "is taken out of the next batch with the end that the store has refused" },
  },
];
