import type { Epoch, ExecutionId, ShardId } from "../domain/ids.ts";
import { attemptUnsendable, finishSpawners, leaveWorker } from "./attempts/attempts.ts";
import { Batch } from "./batch.ts";
import { nextRing, passTime } from "./clock.ts";
import { applyCommands, applyLoaded } from "./commands.ts";
import { inboxTaken, takeInbox } from "./inbox.ts";
import type { Input, StepResult, Want } from "./inputs.ts";
import { leap } from "./leap.ts";
import { releaseShards } from "./ownership/release-shards.ts";
import { acquireShards } from "./ownership/takeover.ts";
import { applyPermitMessage, callCoordinators, dealPermits, followLimits } from "./permits/steps.ts";
import { followTenantLimits } from "./permits/tenant-permits.ts";
import { newDemand } from "./queue/demand.ts";
import { dispatch } from "./queue/dispatch.ts";
import { applyHints, applyReadRows, applyReadyRows } from "./queue/intake.ts";
import { laneRoom } from "./queue/lane-room.ts";
import { sweep } from "./queue/sweep.ts";
import {
  applyChangeovers,
  applyCreated,
  applyFired,
  applyLoadedPlans,
  applyPlannedHint,
  applyReadPlans,
} from "./recurring/intake.ts";
import { advancePlans } from "./recurring/settle.ts";
import { forget, settleJournal } from "./rows.ts";
import { advanceRuns, applyCommitted, applyCounted } from "./runs/advance.ts";
import { assignBirths } from "./runs/born-assigned.ts";
import { applyOutput } from "./runs/end.ts";
import { applyLoadedRuns, askForRuns } from "./runs/load.ts";
import { openRuns } from "./runs/open.ts";
import type { MachineState, Step } from "./state.ts";
import { giveBackRevoked, refreshWorker } from "./workers/credit.ts";
import { applyGateways, fromGateway, judgeSilence } from "./workers/gateway-messages.ts";
import { takeBackStranded } from "./workers/take-back.ts";

/**
 * One step of the owner of some shards: handles the inputs, and then everything that is due at `now`.
 * Deterministic: uses no clock, I/O or random numbers of its own. Changes `state`, and adds to `batch`, which may hold
 * earlier steps.
 */
export function step(state: MachineState, batch: Batch, inputs: readonly Input[], now: number): StepResult {
  const wants: Want[] = [];
  const view: Step = { state, batch, now, wants };
  state.shares.passTime(now);
  for (const input of inputs) take(view, input);
  passTime(view);
  judgeSilence(view);
  advancePlans(view);
  dealPermits(view);
  dispatch(view);
  advanceRuns(view);
  openRuns(view);
  assignBirths(view);
  takeBackStranded(view);
  giveBackRevoked(view);
  refill(view);
  callCoordinators(view);
  askForRuns(view);
  const more = state.plans.isDue(now);
  const permits = state.permits.letters.splice(0);
  return {
    wants,
    wakeAt: nextRing(view, more),
    demand: newDemand(view),
    permits,
    more,
  };
}

function take(view: Step, input: Input): void {
  switch (input.kind) {
    case "OWNED":
      return acquireShards(view, input);
    case "LOST":
      return releaseShards(view, input.shards);
    case "HINTED":
      return applyHints(view, input.rows);
    case "READ_READY":
      return applyReadyRows(view, input);
    case "READ_WAITING":
      return applyReadRows(view, input.rows, input);
    case "LOADED":
      return applyLoaded(view, input);
    case "SWEEP":
      return sweep(view, input.laneHashes);
    case "COMMANDS":
      return applyCommands(view, input.commands);
    case "POOLS":
      return applyPools(view, input);
    case "STOPPED":
    case "WEIGHTS":
    case "TENANT_LIMITS":
    case "SHARES":
      return applyTenants(view, input);
    case "EPOCHS_SEEN":
      return noteEpochs(view, input.epochs);
    case "PERMIT":
      return applyPermitMessage(view, input.from, input.message);
    case "FREED":
      return applyFreed(input.freed);
    case "GATEWAY":
      return fromGateway(view, input.from, input.message);
    case "GATEWAYS":
      return applyGateways(view, input.nodes);
    case "CANDIDATES_MISSED":
      for (const id of input.ids) dropCandidate(view, id);
      return;
    case "LEAPT":
      return leap(view, input.byMs);
    case "CHANGEOVERS":
      return applyChangeovers(view, input);
    case "PLANNED":
      return applyPlannedHint(view, input);
    case "INBOX":
      return takeInbox(view, input);
    case "CREATED":
      inboxTaken(view.state, input.batch);
      applyCreated(view, input);
      return applyCommitted(view, input);
    case "READ_PLANS":
      return applyReadPlans(view, input);
    case "LOADED_PLANS":
      return applyLoadedPlans(view, input);
    case "READ_FIRED":
      return applyFired(view, input);
    case "LOADED_RUNS":
      applyLoadedRuns(view, input);
      return finishSpawners(view, input.asked);
    case "UNSENDABLE":
      for (const attempt of input.attempts) attemptUnsendable(view, attempt);
      return;
    case "OUTPUT":
      return applyOutput(view, input);
    case "COUNTED":
      return applyCounted(view, input);
    case "OPEN_RUNS":
      return expectRuns(view, input.runs);
  }
}

type InputOf<Kind extends Input["kind"]> = Extract<Input, { kind: Kind }>;

function applyTenants(step: Step, input: InputOf<"STOPPED" | "WEIGHTS" | "TENANT_LIMITS" | "SHARES">): void {
  const { state } = step;
  if (input.kind === "TENANT_LIMITS") followTenantLimits(step, input.limits);
  else if (input.kind === "WEIGHTS") state.shares.setWeights(input.weights);
  else if (input.kind === "SHARES") state.shares.hear(input.from, input.shares);
  else {
    state.lanes.stop(input.tenants);
    state.plans.stop(input.tenants);
  }
}

function applyFreed(freed: InputOf<"FREED">["freed"]): void {
  for (const { poolPermits: holding, shard } of freed) holding.freed(shard);
}

function expectRuns({ state }: Step, runs: InputOf<"OPEN_RUNS">["runs"]): void {
  for (const run of runs) state.runs.expect(run);
}

function noteEpochs({ state: { permits } }: Step, epochs: ReadonlyMap<ShardId, Epoch>): void {
  for (const [shard, epoch] of epochs) permits.seen.set(shard, epoch);
}

function applyPools(view: Step, input: Extract<Input, { kind: "POOLS" }>): void {
  const { pools, workers } = view.state;
  pools.clear();
  for (const pool of input.pools) pools.set(pool.name, pool);
  followLimits(view, input.pools);
  for (const worker of workers.all()) refreshWorker(view, worker);
}

/**
 * Drops an execution whose hint was stale. The commit wrote nothing for the execution, and no message about it was
 * sent.
 */
function dropCandidate(view: Step, id: ExecutionId): void {
  const entry = view.state.entries.get(id);
  if (entry === undefined) return;
  const { assigned } = entry;
  // The commands are still in the inbox, and the next read of the inbox finds the true state of the execution.
  for (const command of [...entry.cancels, ...entry.signals]) view.state.openCommands.delete(command);
  if (assigned !== null) {
    settleJournal(view, entry);
    leaveWorker(view, entry, assigned);
    view.state.permits.freed(entry.row);
    if (entry.row.queue === "READY" && entry.lane !== null) entry.lane.assignedReady--;
    entry.assigned = null;
  }
  forget(view, entry);
}

/** Asks the store for more rows of each lane that runs low. */
function refill(view: Step): void {
  const { state, wants } = view;
  for (const lane of state.lanes.low()) {
    if (state.reading.has(lane.hash)) continue;
    const room = laneRoom(view, lane);
    if (lane.ready.size > room / 2) {
      state.lanes.hasEnough(lane);
      continue;
    }
    state.reading.add(lane.hash);
    wants.push({ kind: "READY", laneHash: lane.hash, after: lane.tail, limit: room });
  }
}

/**
 * Closes a batch that goes to the store. Its journal rows exist from now on, so the next batch may settle them.
 * @returns the next batch
 */
export function sealBatch(batch: Batch): Batch {
  const next = new Batch(batch.number + 1);
  for (const { box } of batch.shards.values()) {
    if (box === null) continue;
    box.sent = true;
    if (box.unsettled === 0) next.shard(box.shard).settledJournals.push({ epoch: box.epoch, seq: box.seq });
  }
  return next;
}
