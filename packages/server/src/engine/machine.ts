import type { ExecutionId } from "../domain/ids.ts";
import { leaveWorker } from "./attempts/attempts.ts";
import { Batch } from "./batch.ts";
import { nextRing, passTime } from "./clock.ts";
import { takeCommands, takeLoaded } from "./commands.ts";
import type { Input, StepResult, Want } from "./inputs.ts";
import { leap } from "./leap.ts";
import { letGo } from "./ownership/let-go.ts";
import { takeOwnership } from "./ownership/takeover.ts";
import { callHomes, dealPermits, followLimits, takePermitMail } from "./permits/steps.ts";
import { newDemand } from "./queue/demand.ts";
import { dispatch } from "./queue/dispatch.ts";
import { laneRoom, takeHints, takeReadRows, takeReadyRows } from "./queue/intake.ts";
import { sweep } from "./queue/sweep.ts";
import {
  takeBorn,
  takeChangeovers,
  takeFired,
  takeLoadedPlans,
  takePlannedHint,
  takePlans,
} from "./recurring/intake.ts";
import { advancePlans } from "./recurring/settle.ts";
import { forget, settleJournal } from "./rows.ts";
import type { MachineState, Step } from "./state.ts";
import { giveBackRecalled, refreshWorker } from "./workers/credit.ts";
import { fromGateway, judgeSilence, takeGateways } from "./workers/fleet.ts";

/**
 * One step of the owner of some shards: what came in, and what follows from it at this time.
 * Deterministic: no clock, no I/O, no dice of its own. Changes `state`; adds to `batch`, which may hold earlier steps.
 */
export function step(state: MachineState, batch: Batch, inputs: readonly Input[], now: number): StepResult {
  const wants: Want[] = [];
  const view: Step = { state, batch, now, wants };
  for (const input of inputs) take(view, input);
  const isHerdWaiting = passTime(view);
  judgeSilence(view);
  advancePlans(view);
  dealPermits(view);
  dispatch(view);
  giveBackRecalled(view);
  refill(view);
  callHomes(view);
  const more = state.plans.isDue(now);
  const permits = state.permits.letters.splice(0);
  return { wants, wakeAt: nextRing(view, { plans: more, due: isHerdWaiting }), demand: newDemand(view), permits, more };
}

function take(view: Step, input: Input): void {
  switch (input.kind) {
    case "OWNED":
      return takeOwnership(view, input);
    case "LOST":
      return letGo(view, input.shards);
    case "HINTED":
      return takeHints(view, input.rows);
    case "READ_READY":
      return takeReadyRows(view, input);
    case "READ_WAITING":
      return takeReadRows(view, input.rows, input);
    case "LOADED":
      return takeLoaded(view, input);
    case "SWEEP":
      return sweep(view, input.laneHashes);
    case "COMMANDS":
      return takeCommands(view, input.commands);
    case "POOLS":
      return takePools(view, input);
    case "EPOCHS_SEEN":
      for (const [shard, epoch] of input.epochs) view.state.permits.seen.set(shard, epoch);
      return;
    case "PERMIT":
      return takePermitMail(view, input.from, input.message);
    case "FREED":
      for (const { holding, shard } of input.freed) holding.freed(shard);
      return;
    case "GATEWAY":
      return fromGateway(view, input.from, input.message);
    case "GATEWAYS":
      return takeGateways(view, input.nodes);
    case "CANDIDATES_MISSED":
      for (const id of input.ids) dropCandidate(view, id);
      return;
    case "LEAPT":
      return leap(view, input.byMs);
    case "CHANGEOVERS":
      return takeChangeovers(view, input);
    case "PLANNED":
      return takePlannedHint(view, input);
    case "BORN":
      return takeBorn(view, input);
    case "READ_PLANS":
      return takePlans(view, input);
    case "LOADED_PLANS":
      return takeLoadedPlans(view, input);
    case "READ_FIRED":
      return takeFired(view, input);
  }
}

function takePools(view: Step, input: Extract<Input, { kind: "POOLS" }>): void {
  const { pools, workers } = view.state;
  pools.clear();
  for (const pool of input.pools) pools.set(pool.name, pool);
  followLimits(view, input.pools);
  for (const worker of workers.all()) refreshWorker(view, worker);
}

/** The hint was stale: nothing was written for it and nothing of it was sent. */
function dropCandidate(view: Step, id: ExecutionId): void {
  const entry = view.state.entries.get(id);
  if (entry === undefined) return;
  const { assigned } = entry;
  // They are still in the inbox, and the next look at it finds what is true of the execution.
  for (const command of entry.cancels) view.state.openCommands.delete(command);
  if (assigned !== null) {
    settleJournal(view, entry);
    leaveWorker(view, entry, assigned);
    view.state.permits.of(entry.row.pool)?.freed(entry.row.shard);
    if (entry.row.queue === "READY" && entry.lane !== null) entry.lane.assignedReady--;
    entry.assigned = null;
  }
  forget(view, entry);
}

/** Lanes that run low ask the store for more. */
function refill(view: Step): void {
  const { state, wants } = view;
  const room = laneRoom(view);
  for (const lane of state.lanes.partial()) {
    if (state.reading.has(lane.hash) || lane.ready.size > room / 2) continue;
    state.reading.add(lane.hash);
    wants.push({ kind: "READY", laneHash: lane.hash, after: lane.tail, limit: room });
  }
}

/** The batch goes to the store: its journal rows are there from now on, and may be settled by the next one. */
export function sealBatch(batch: Batch): Batch {
  const next = new Batch(batch.number + 1);
  for (const { box } of batch.shards.values()) {
    if (box === null) continue;
    box.sent = true;
    if (box.unsettled === 0) next.shard(box.shard).settledJournals.push({ epoch: box.epoch, seq: box.seq });
  }
  return next;
}
