import type { Candidate } from "../../domain/execution.ts";
import type { ExecutionId } from "../../domain/ids.ts";
import { nextAttempt } from "../../domain/lost-attempts.ts";
import type { NodeBirth } from "../../ports/store-runs.ts";
import { attemptGivenUp } from "../attempts/attempts.ts";
import type { Batch } from "../batch.ts";
import { newEntry } from "../entry.ts";
import { tellAssigned } from "../events.ts";
import type { Share } from "../fair/shares.ts";
import { hasTenantRoom } from "../permits/tenant-permits.ts";
import { assignmentOf, newAssigned } from "../queue/assignment.ts";
import { hasRoom, isFull, noteFilled, shareOf } from "../queue/dispatch.ts";
import { laneOf } from "../queue/intake.ts";
import type { Lane } from "../queue/lanes.ts";
import { type MachineState, poolOf, type Step } from "../state.ts";
import { pickWorker, type WorkerSlots } from "../workers/workers.ts";

/**
 * Nodes that are assigned in the commit that creates them, so that a hop of a workflow costs one commit and not two.
 *
 * The created row says RUNNING and names the worker, as the row of an attempt that runs for long does. The store therefore
 * writes the node and its assignment, or neither, and needs no row of the journal for it. An owner that takes over finds the
 * row among those that workers hold, as an attempt that is not known to have started. The same holds for owners of every
 * feature level, so this needs none of its own.
 *
 * Until the commit is answered, the node only occupies a slot of the worker and a permit of its pool. It enters memory, and
 * its assignment leaves, when the store has created it.
 */

/** Number of the attempt with which a store creates a node that is assigned. */
const FIRST_ATTEMPT = 1;

/**
 * Assigns nodes that this step has created to free workers, the smallest rank first. Called after `dispatch`: the work that
 * waits has its workers then, so no node goes before it. Work waits beside a free worker only if the batch is full or the
 * pool has no permit, and then no node is assigned either.
 */
export function assignBirths(step: Step): void {
  const births = step.batch.newBirths.splice(0);
  if (births.length > 1) births.sort((a, b) => a.row.rank - b.row.rank || (a.row.id < b.row.id ? -1 : 1));
  for (const birth of births) {
    const { row } = birth;
    const lane = mayStart(step, row) ? laneOf(step, row) : null;
    if (lane === null) continue;
    // Rows of the lane that are not in memory may go first.
    const worker = lane.moreInStore ? null : pickWorker(lane.work);
    const { share } = lane.contender;
    if (worker === null || share === null) step.state.lanes.prune(lane);
    else assign(step, birth, lane, share, worker);
  }
}

/**
 * Whether the node may get a worker now, if there is one. A node with a concurrency key waits for its turn in its lane, and so does one
 * whose first attempt skips numbers.
 */
function mayStart(step: Step, row: Candidate): boolean {
  const { state, now } = step;
  const { queue, dueAt, pool, tenant, concurrencyKey, policy } = row;
  if (nextAttempt(row.id, 0, state.lostAttempts) !== FIRST_ATTEMPT) return false;
  if (!state.workers.hasCredits(pool) || queue !== "READY" || dueAt > now || concurrencyKey !== null) return false;
  if (policy.startBefore !== null && policy.startBefore <= now) return false;
  if (poolOf(state, pool).paused || !hasRoom(step, state.permits.of(pool)) || !hasTenantRoom(state, tenant))
    return false;
  return !isFull(step) && !isFull(step, shareOf(step, pool, state.lanes.served().size));
}

function assign(step: Step, birth: NodeBirth, lane: Lane, share: Share, worker: WorkerSlots): void {
  const { state, batch } = step;
  const { row } = birth;
  Object.assign(row, { state: "RUNNING", queue: "HELD", attempt: FIRST_ATTEMPT });
  const entry = newEntry(row, false);
  const assigned = newAssigned(step, share, worker);
  assigned.isNewborn = true;
  Object.assign(entry, { lane, assigned });
  birth.assigned = { workerId: assigned.workerId, gateway: assigned.gateway };
  state.runs.unborn.set(row.id, entry);
  tellAssigned(step, row, assigned);
  state.permits.assigned(row);
  // A read that shows the row before the commit is answered must not bring it into memory.
  state.recentWrites.add(row.id, batch.number);
  const before = { assigns: batch.assigns.length, bytes: batch.bytes };
  batch.bytes += row.payloadBytes;
  batch.assigns.push(assignmentOf(step, entry, assigned));
  noteFilled(batch, row.pool, before);
}

/**
 * Brings in a node that the store has created with its assignment. If the worker has left or has a new connection, or the
 * node must not start, the assignment is not sent, and the attempt ends as RELEASED.
 * @param isUnwanted whether the run of the node has been paused or asked for its end meanwhile
 * @returns false: the node was not assigned
 */
export function bringAssigned(step: Step, { id, shard }: Candidate, isUnwanted: boolean): boolean {
  const { state } = step;
  const entry = state.runs.unborn.get(id);
  if (entry === undefined) return false;
  state.runs.unborn.delete(id);
  const { assigned } = entry;
  if (assigned === null || !state.epochs.has(shard)) return true;
  entry.place = "ASSIGNED";
  state.entries.set(id, entry);
  const worker = state.workers.get(assigned.workerId);
  const isThere = worker?.gateway === assigned.gateway && worker.account === assigned.account;
  assigned.worker = isThere ? worker : null;
  if (!isThere || isUnwanted) attemptGivenUp(step, entry, "RELEASED", "");
  else {
    worker.held.add(entry);
    state.unstarted.add(entry);
  }
  return true;
}

/** Notes that the store has not created a node that was assigned. Its assignment is not sent, which frees its slot. */
export function notBorn({ runs, lanes, permits, shares }: MachineState, id: ExecutionId): void {
  const entry = runs.unborn.get(id);
  if (entry === undefined) return;
  runs.unborn.delete(id);
  permits.freed(entry.row);
  if (entry.assigned !== null) shares.ended(entry.assigned);
  if (entry.lane !== null) lanes.prune(entry.lane);
}

/** Takes back the births of a run from a batch that is not on its way to the store, and returns their slots. */
export function withdrawBirths(state: MachineState, batch: Batch, run: ExecutionId): void {
  const withdrawn = new Set(batch.withdraw(run));
  if (withdrawn.size === 0) return;
  for (const id of withdrawn) notBorn(state, id);
  for (const { gateway, workerId, account, credit } of batch.unassign(withdrawn)) {
    batch.toGateway.push({ node: gateway, message: { kind: "VOID", workerId, account, credits: [credit] } });
  }
}
