import { isNodeBesideRun } from "../../domain/execution.ts";
import type { ShardId } from "../../domain/ids.ts";
import { invariant } from "../../domain/invariant.ts";
import type { InFlightRow, JournalRef, Recovered } from "../../ports/store.ts";
import { applyCommands } from "../commands.ts";
import { newEntry } from "../entry.ts";
import type { Input } from "../inputs.ts";
import type { JournalBox } from "../journal-box.ts";
import { permitsOwned } from "../permits/steps.ts";
import { laneOf } from "../queue/intake.ts";
import { holdKey } from "../runs/held-keys.ts";
import type { Step } from "../state.ts";
import { askForWorkers, seek } from "../workers/adoption.ts";

/**
 * Starts to own shards. The owner waits for everything that may be in flight in these shards, and does not start any of
 * it again yet.
 */
export function acquireShards(step: Step, owned: Extract<Input, { kind: "OWNED" }>): void {
  const { state } = step;
  const { recovered } = owned;
  state.incarnation = owned.incarnation;
  if (state.life === 0) state.life = owned.term;
  state.term = owned.term;
  state.lostAttempts = recovered.lostAttempts ?? null;
  for (const [shard, epoch] of owned.epochs) {
    state.epochs.set(shard, epoch);
    state.terms.set(shard, owned.term);
    state.journalSeqs.delete(shard);
  }
  // No lane has read the rows of the new shards yet.
  for (const lane of state.lanes.all()) state.lanes.know(lane, { tail: null });
  const boxes = openBoxes(step, recovered);
  for (const row of recovered.inFlight) adopt(step, row, boxes);
  for (const run of recovered.runs ?? []) state.runs.expect(run);
  // Before anything is opened or assigned.
  for (const run of recovered.keyedRuns ?? []) holdKey(state, run);
  askForWorkers(step);
  permitsOwned(step, owned.epochs.keys());
  applyCommands(step, recovered.commands);
}

function openBoxes(step: Step, recovered: Recovered): Map<string, JournalBox> {
  const boxes = new Map<string, JournalBox>();
  for (const { shard, ref, unsettled } of recovered.journals) {
    const box = { shard, epoch: ref.epoch, seq: ref.seq, unsettled, sent: true };
    boxes.set(boxName(shard, ref), box);
    if (unsettled === 0) step.batch.shard(shard).settledJournals.push(ref);
  }
  return boxes;
}

function boxName(shard: ShardId, ref: JournalRef): string {
  return `${shard}:${ref.epoch}:${ref.seq}`;
}

function adopt(step: Step, inFlight: InFlightRow, boxes: ReadonlyMap<string, JournalBox>): void {
  const { state } = step;
  const { row, workerId, gateway, assignedAt, attemptStartedAt, journal } = inFlight;
  const entry = newEntry(row, false);
  const lane = laneOf(step, row);
  entry.lane = lane;
  entry.place = "ASSIGNED";
  row.attempt = inFlight.attempt;
  const { share } = lane.contender;
  invariant(share !== null, "a worker has a workflow run");
  state.shares.adopted(share);
  entry.assigned = {
    share,
    charged: 0,
    workerId,
    gateway,
    worker: null,
    // The store's clock may have been set back since the assignment.
    at: Math.min(assignedAt, step.now),
    account: 0,
    credit: 0,
    startedAt: attemptStartedAt,
    journal: journal === null ? null : (boxes.get(boxName(row.shard, journal)) ?? null),
    soughtSince: null,
    stopping: null,
    isNewborn: false,
    // The commit that wrote the start has told it.
    isStartTold: attemptStartedAt !== null,
  };
  if (row.queue === "READY") lane.assignedReady++;
  if (lane.gate !== null) lane.gate.running++;
  state.permits.adopted(row);
  state.entries.set(entry.id, entry);
  if (isNodeBesideRun(row)) state.runs.expect(row.jobId);
  if (attemptStartedAt === null) state.unstarted.add(entry);
  seek(step, entry, entry.assigned);
}
