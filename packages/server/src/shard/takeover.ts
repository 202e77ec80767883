import type { EpochMs, Incarnation, ShardId } from "../domain/ids.ts";
import type { InFlightRow, JournalRef, Recovered } from "../ports/store.ts";
import { attemptGivenUp } from "./attempts.ts";
import { takeCommands } from "./commands.ts";
import { newEntry } from "./entry.ts";
import type { Input } from "./inputs.ts";
import { laneOf } from "./intake.ts";
import type { JournalBox } from "./journal-box.ts";
import type { Patience } from "./patience.ts";
import { permitsOwned } from "./permits/steps.ts";
import { type Step, setTimer } from "./state.ts";

/** What the owner before waited for, this one waits for no shorter than so long. */
const ANSWER_WITHIN_MS = 5_000;

/** Begins to own shards: everything that may be in flight in them is waited for, nothing is started anew yet. */
export function takeOwnership(step: Step, owned: Extract<Input, { kind: "OWNED" }>): void {
  const { state } = step;
  const { recovered } = owned;
  state.incarnation = owned.incarnation;
  if (state.life === 0) state.life = owned.term;
  state.term = owned.term;
  for (const [shard, epoch] of owned.epochs) {
    state.epochs.set(shard, epoch);
    state.terms.set(shard, owned.term);
    state.journalSeqs.delete(shard);
  }
  // Of the shards that came now no lane knows what the store has.
  for (const lane of state.lanes.all()) state.lanes.know(lane, { tail: null });
  const boxes = openBoxes(step, recovered);
  const silent = new Map(Array.from(owned.epochs, ([shard, epoch]) => [shard, state.patience.take(shard, epoch)]));
  for (const row of recovered.inFlight) adoptLater(step, row, boxes, silent.get(row.row.shard));
  permitsOwned(step, owned.epochs.keys());
  takeCommands(step, recovered.commands);
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

function adoptLater(
  step: Step,
  inFlight: InFlightRow,
  boxes: ReadonlyMap<string, JournalBox>,
  silentSince: ReturnType<Patience["take"]> | undefined,
): void {
  const { state } = step;
  const { row, workerId, gateway, assignedAt, attemptStartedAt, journal } = inFlight;
  const entry = newEntry(row, false);
  const lane = laneOf(step, row);
  entry.lane = lane;
  entry.place = "ASSIGNED";
  row.attempt = inFlight.attempt;
  entry.assigned = {
    workerId,
    gateway,
    worker: null,
    at: assignedAt,
    account: 0,
    credit: 0,
    startedAt: attemptStartedAt,
    journal: journal === null ? null : (boxes.get(boxName(row.shard, journal)) ?? null),
    adopting: true,
    leftOn: null,
    missedOn: null,
    stopping: null,
  };
  if (row.queue === "READY") lane.assignedReady++;
  if (lane.gate !== null) lane.gate.running++;
  state.permits.of(row.pool)?.adopted(row.shard);
  state.entries.set(entry.id, entry);
  const waiting = state.adopting.get(workerId);
  if (waiting === undefined) state.adopting.set(workerId, new Set([entry]));
  else waiting.add(entry);
  setTimer(state, entry, waitsUntil(step, silentSince?.(entry.id, row.attempt) ?? step.now));
  if (diedWithItsServer(step, workerId)) {
    attemptGivenUp(step, entry, "WORKER_LOST", "it ran inside a server that has ended");
  }
}

/** Its gateway is asked anew, and has some time to answer. */
function waitsUntil({ state, now }: Step, silentSince: EpochMs): EpochMs {
  return Math.max(Math.min(silentSince, now) + state.limits.adoptWithinMs, now + ANSWER_WITHIN_MS);
}

const BUILTIN = "builtin-";

/** A worker inside a server process is named after it, and never outlives it. @param turn the how-manieth of its server */
export function builtinWorkerId(incarnation: Incarnation, turn = 0): string {
  return turn === 0 ? BUILTIN + incarnation : `${BUILTIN}${incarnation}-${turn}`;
}

export function isBuiltinWorkerId(workerId: string): boolean {
  return workerId.startsWith(BUILTIN);
}

/** A server that lives may have let the shard go and still run what it had of it. */
function diedWithItsServer({ state }: Step, workerId: string): boolean {
  if (!isBuiltinWorkerId(workerId)) return false;
  const isOf = (server: Incarnation) => workerId.startsWith(builtinWorkerId(server));
  return !isOf(state.incarnation) && ![...state.gateways].some(isOf);
}
