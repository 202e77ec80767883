import type { ShardId } from "../../domain/ids.ts";
import { leaveWorker } from "../attempts/attempts.ts";
import { keep } from "../batch.ts";
import type { Entry } from "../entry.ts";
import { permitsLost, reopen } from "../permits/steps.ts";
import { forget } from "../rows.ts";
import { notBorn } from "../runs/born-assigned.ts";
import { freeKey } from "../runs/held-keys.ts";
import type { Step } from "../state.ts";

/**
 * Removes all state of shards that another node owns now, and the batch's changes of these shards. The next owner
 * learns their state from the store, and the attempts that workers hold from the workers.
 */
export function releaseShards(step: Step, lost: readonly ShardId[]): void {
  if (lost.length === 0) return;
  const { state, batch } = step;
  const shards = new Set(lost);
  for (const entry of [...state.entries.values()]) if (shards.has(entry.row.shard)) drop(step, entry);
  for (const [id, commands] of state.loading) {
    if (commands.every(({ shard }) => shards.has(shard))) state.loading.delete(id);
    for (const command of commands) if (shards.has(command.shard)) state.openCommands.delete(command.id);
  }
  for (const [id, { shard }] of state.jobCommands) {
    if (!shards.has(shard)) continue;
    state.jobCommands.delete(id);
    state.openCommands.delete(id);
  }
  releasePlans(step, shards);
  releaseRuns(step, shards);
  permitsLost(step, shards);
  for (const shard of shards) {
    state.epochs.delete(shard);
    state.terms.delete(shard);
    state.journalSeqs.delete(shard);
  }
  batch.drop(shards);
  reopen(step);
}

function drop(step: Step, entry: Entry): void {
  const { assigned } = entry;
  for (const command of [...entry.cancels, ...entry.signals]) step.state.openCommands.delete(command);
  if (assigned !== null) {
    leaveWorker(step, entry, assigned);
    if (entry.row.queue === "READY" && entry.lane !== null) entry.lane.assignedReady--;
    entry.assigned = null;
  }
  forget(step, entry);
}

/** Forgets the recurring jobs of shards that are another's now, and what was asked of them. */
function releasePlans({ state }: Step, shards: ReadonlySet<ShardId>): void {
  const { plans, runs, openCommands } = state;
  for (const planned of [...plans.byId.values()]) {
    if (!shards.has(planned.shard)) continue;
    plans.drop(planned);
    for (const id of planned.open) {
      plans.uncommitted.delete(id);
      plans.superseding.delete(id);
      runs.superseded.delete(id);
    }
  }
  for (const [jobId, commands] of plans.commands) {
    if (!commands.some(({ command }) => shards.has(command.shard))) continue;
    for (const { command } of commands) openCommands.delete(command.id);
    plans.commands.delete(jobId);
  }
}

/** Forgets the workflow runs of shards that are another's now. */
function releaseRuns({ state }: Step, shards: ReadonlySet<ShardId>): void {
  const { runs, openCommands } = state;
  for (const run of [...runs.byId.values()]) if (shards.has(run.shard)) runs.drop(run);
  for (const [id, { row }] of runs.unborn) if (shards.has(row.shard)) notBorn(state, id);
  for (const [id, { shard }] of runs.heldKeys) if (shards.has(shard)) freeKey(state, id);
  // No commit writes ends of this step, nor those that follow from the commit that was answered first.
  keep(runs.ended, ({ shard }) => !shards.has(shard));
  for (const [id, [end]] of runs.earlyEnds) if (end !== undefined && shards.has(end.shard)) runs.earlyEnds.delete(id);
  for (const [id, reports] of runs.unfinished) {
    if ([...reports.values()].some(({ report }) => shards.has(report.shard))) runs.unfinished.delete(id);
  }
  for (const nodes of [runs.ending, runs.fetching, runs.stopped])
    for (const [id, { shard }] of nodes) if (shards.has(shard)) nodes.delete(id);
  for (const open of [runs.cancels, runs.orders, runs.signals, runs.keyedEnds]) {
    for (const [id, commands] of open) {
      if (!commands.some(({ shard }) => shards.has(shard))) continue;
      for (const command of commands) openCommands.delete(command.id);
      open.delete(id);
    }
  }
}
