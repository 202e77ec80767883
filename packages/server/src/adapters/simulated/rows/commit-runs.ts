import type { ExecutionId } from "../../../domain/ids.ts";
import { invariant } from "../../../domain/invariant.ts";
import { unstorableNode } from "../../../ports/storable.ts";
import type { ShardCommit, ShardOutcome } from "../../../ports/store.ts";
import type { Command } from "../../../ports/store-commands.ts";
import type { NodeBirth } from "../../../ports/store-runs.ts";
import type { AppliedChange, AppliedRun } from "../history.ts";
import type { StoreData } from "../store-data.ts";
import type { ExecutionRow } from "./execution-row.ts";
import { nodeRow, putChildRun } from "./insert-workflow.ts";

interface RunsOutcome {
  runs: AppliedRun[];
  nodes: ExecutionRow[];
  missedRuns: ExecutionId[];
  notBorn: ExecutionId[];
  refused: ShardOutcome["refused"];
}

/**
 * Writes runs, and creates executions of nodes, after the changes of the same commit: a node is created only if all
 * executions after which it comes were changed.
 */
export function commitRuns(
  data: StoreData,
  asked: ShardCommit,
  applied: readonly AppliedChange[],
  commitNumber: number,
): RunsOutcome {
  const outcome: RunsOutcome = { runs: [], nodes: [], missedRuns: [], notBorn: [], refused: [] };
  const changed = new Set(applied.map(({ after }) => after.id));
  for (const { id, spawn } of asked.changes) if (spawn !== undefined && changed.has(id)) data.runs.addPart(spawn);
  for (const change of asked.runs) {
    const { run, wasRevision, revision, mode, paused, mapCounts, after: ends = [], outcome: end } = change;
    const before = data.runs.get(run);
    if (before?.revision !== wasRevision || !ends.every((end) => changed.has(end))) {
      outcome.missedRuns.push(run);
      continue;
    }
    invariant(before.shard === asked.shard, "a run is changed in its own shard");
    const known = { outcome: end ?? before.outcome, mapCounts: mapCounts ?? before.mapCounts };
    const after = { ...before, revision, mode, paused, ...known };
    data.runs.put(after);
    outcome.runs.push({ before, after });
  }
  const missed = new Set(outcome.missedRuns);
  for (const birth of asked.births) {
    const { id, jobId } = birth.row;
    const message = unstorableNode(birth);
    const isJustified = birth.after.every((parent) => changed.has(parent)) && !missed.has(jobId);
    if (message !== null) outcome.refused.push({ id, message });
    else if (!isJustified || data.executions.get(id) !== undefined) outcome.notBorn.push(id);
    else {
      const row = bornRow(birth, nodeRow(data, birth, { updatedAt: data.now(), commitNumber }));
      data.executions.insert(row);
      outcome.nodes.push(row);
      if (birth.workflow !== undefined) putChildRun(data, row, birth.workflow);
    }
  }
  return outcome;
}

/** Adds commands between the owners of runs and of their nodes with concurrency keys. @returns those that are new */
export function addCommands(
  data: StoreData,
  asked: ShardCommit,
  applied: readonly AppliedChange[],
  missedRuns: readonly ExecutionId[],
): Command[] {
  const changed = new Set(applied.map(({ after }) => after.id));
  return asked.commands.flatMap(({ run, command }): Command[] => {
    const shard = data.runs.get(run)?.shard;
    const isEnd = command.kind === "NODE_ENDED";
    const isJustified = isEnd ? changed.has(command.executionId) : !missedRuns.includes(run);
    if (shard === undefined || !isJustified) return [];
    const added = isEnd ? { ...command, shard } : command;
    return data.commands.add(added) ? [added] : [];
  });
}

function bornRow({ assigned }: NodeBirth, row: ExecutionRow): ExecutionRow {
  return assigned === undefined ? row : { ...row, ...assigned, state: "RUNNING", queue: "HELD", attempt: 1 };
}
