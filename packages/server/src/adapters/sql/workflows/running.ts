import type { ShardId } from "../../../domain/ids.ts";
import type { RowChange, ShardCommit } from "../../../ports/store.ts";
import type { NodeBirth, RunChange } from "../../../ports/store-runs.ts";
import { bools, int2s, int4s, texts, uuids } from "../connection/arrays.ts";
import { RUN_MODE_CODES } from "../connection/codes.ts";
import { ADDED_ANSWER, added, addedValues, COMMAND_COLUMNS } from "./added-commands.ts";
import { NODE_COLUMNS, newNodes, newNodeValues, nodeInsert } from "./new-nodes.ts";
import { mapCountsText } from "./retry-run.ts";

/** Parts of the commit statement for ticks that change runs of workflows or create executions of nodes; see commit-statement.ts. */

/** Number of the first parameter of these parts. */
const FIRST = 94;
const [BRANCH, RUN, END, PARENT, NODE] = [FIRST, FIRST + 1, FIRST + 9, FIRST + 11, FIRST + 13] as const;
/** Number of the parameter behind the last one of these parts: nodes of planned occurrences. */
export const PLANNED_NODES = NODE + NODE_COLUMNS;
/** Shard whose fence each new node is under: that of its run. */
const FENCE = PLANNED_NODES + 1;
const WORKFLOW = FENCE + 1;
const COMMAND = WORKFLOW + 1;
/** Number of the first parameter behind these parts. */
export const NEXT = COMMAND + COMMAND_COLUMNS;

/**
 * Writes runs, and creates executions of nodes, each of a sub-workflow with its run. The execution of a node exists only if every execution after which the commit creates it has
 * been updated by this statement: otherwise a parent whose change was missed would leave a child that its own result does not justify.
 *
 * Without `IS TRUE` and `IS NOT TRUE`, the planner makes each condition a join, which without hash joins (connections.ts) compares each row
 * with each. A run is changed only if every execution after which the change comes has been updated, too.
 * @param holds SQL condition that the fence of the shard in a column holds
 */
export const running = (holds: (column: string) => string) => `, run AS MATERIALIZED (
  SELECT unnest($${RUN}::int2[]) AS shard, unnest($${RUN + 1}::uuid[]) AS run, unnest($${RUN + 2}::int4[]) AS was_revision,
    unnest($${RUN + 3}::int4[]) AS revision, unnest($${RUN + 4}::int2[]) AS mode,
    unnest($${RUN + 5}::bool[]) AS paused, unnest($${RUN + 6}::text[]) AS outcome, unnest($${RUN + 7}::text[]) AS map_counts
), undone AS MATERIALIZED (
  SELECT p.run FROM (SELECT unnest($${END}::uuid[]) AS run, unnest($${END + 1}::uuid[]) AS done) p
  WHERE (p.done IN (SELECT u.id FROM updated u)) IS NOT TRUE
), ran AS (
  UPDATE workflow_runs w SET revision = r.revision, mode = r.mode, paused = r.paused,
    outcome = coalesce(r.outcome, w.outcome), map_counts = coalesce(r.map_counts, w.map_counts)
  FROM run r WHERE w.run = r.run AND w.revision = r.was_revision AND ${holds("r.shard")}
    AND (r.run IN (SELECT d.run FROM undone d)) IS NOT TRUE
  RETURNING w.run
), missed_run AS MATERIALIZED (
  SELECT r.run FROM run r WHERE ${holds("r.shard")} EXCEPT SELECT a.run FROM ran a
), node AS MATERIALIZED (${newNodes(NODE)}, unnest($${FENCE}::int2[]) AS fence, unnest($${WORKFLOW}::uuid[]) AS workflow
), orphan AS MATERIALIZED (
  SELECT p.child FROM (SELECT unnest($${PARENT}::uuid[]) AS child, unnest($${PARENT + 1}::uuid[]) AS parent) p
  WHERE (p.parent IN (SELECT u.id FROM updated u)) IS NOT TRUE
), bred AS (
  ${nodeInsert("$24::int8")} FROM node n
  WHERE ${holds("n.fence")} AND (n.id IN (SELECT child FROM orphan)) IS NOT TRUE
    AND (n.job_id IN (SELECT run FROM missed_run)) IS NOT TRUE
  ON CONFLICT DO NOTHING RETURNING id
), child AS (
  INSERT INTO workflow_runs (run, shard, revision, mode, workflow)
  SELECT n.id, n.shard, 1, ${RUN_MODE_CODES.RUNNING}, n.workflow FROM node n
  WHERE n.workflow IS NOT NULL AND (n.id IN (SELECT b.id FROM bred b)) IS TRUE
)${added(COMMAND, holds)}`;

/** Runs that were not as expected, and executions of nodes that were not created. */
export const runningAnswer = (holds: (column: string) => string) => `,
  ARRAY(SELECT run FROM missed_run),
  CASE WHEN (SELECT count(*) FROM bred) < (SELECT count(*) FROM node n WHERE ${holds("n.fence")}) THEN
    ARRAY(SELECT n.id FROM node n WHERE ${holds("n.fence")} EXCEPT SELECT b.id FROM bred b)
  END${ADDED_ANSWER}`;

/** Branches of changes; NULL: the row keeps what it has. */
export const BRANCHES = `, unnest($${BRANCH}::text[]) AS branch`;
export const BRANCHED = ", branch = coalesce(c.branch, e.branch)";

/** Whether a commit needs these parts. */
export function isRunning({ changes, runs, births, plans, expected, commands }: ShardCommit): boolean {
  return (
    runs.length + births.length + commands.length > 0 ||
    changes.some(({ branch, spawn }) => branch !== undefined || spawn !== undefined) ||
    expected.some(({ isNode }) => isNode) ||
    plans.some(({ created }) => created.some(({ row }) => row.node !== undefined))
  );
}

interface OfShard extends RunChange {
  shard: ShardId;
}

/** Values of the parameters behind PLANNED_NODES. */
export function lastRunningValues(batch: readonly ShardCommit[]): unknown[] {
  const births = batch.flatMap(({ shard, births }) =>
    births.map(({ row, workflow = null }) => ({ id: row.id, shard, workflow })),
  );
  // In the order of `newNodeValues`.
  births.sort((a, b) => (a.id < b.id ? -1 : 1));
  return [int2s(births, ({ shard }) => shard), uuids(births, ({ workflow }) => workflow), ...addedValues(batch)];
}

/** @param changes all changes of the commit, in the order of its other values */
export function runningValues(batch: readonly ShardCommit[], changes: readonly Pick<RowChange, "branch">[]): unknown[] {
  const runs: OfShard[] = [];
  const births: NodeBirth[] = [];
  for (const { shard, runs: own, births: children } of batch) {
    for (const change of own) runs.push({ ...change, shard });
    births.push(...children);
  }
  const ends = runs.flatMap(({ run, after }) => after?.map((end) => [run, end] as const) ?? []);
  const pairs = births.flatMap(({ row, after }) => after.map((parent) => [row.id, parent] as const));
  return [
    texts(changes, (c) => c.branch ?? null),
    int2s(runs, (r) => r.shard),
    uuids(runs, (r) => r.run),
    int4s(runs, (r) => r.wasRevision),
    int4s(runs, (r) => r.revision),
    int2s(runs, (r) => RUN_MODE_CODES[r.mode]),
    bools(runs, (r) => r.paused),
    texts(runs, (r) => (r.outcome === undefined ? null : JSON.stringify(r.outcome))),
    texts(runs, ({ mapCounts }) => (mapCounts === undefined ? null : mapCountsText(mapCounts))),
    uuids(ends, ([run]) => run),
    uuids(ends, ([, end]) => end),
    uuids(pairs, ([child]) => child),
    uuids(pairs, ([, parent]) => parent),
    ...newNodeValues(births),
  ];
}
