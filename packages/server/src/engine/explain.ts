import { type Feature, isOn } from "../domain/cluster/feature-level.ts";
import { type Candidate, isNodeBesideRun, isRun } from "../domain/execution.ts";
import type { EpochMs } from "../domain/ids.ts";
import { attemptLimitMs, lifetimeEnd, lifetimeMs } from "../domain/lifetime.ts";
import type { KeyHolder, WaitReason } from "../ports/explanation.ts";
import { type Assigned, type Entry, isCancelled } from "./entry.ts";
import { isKeptFrom } from "./fair/headroom.ts";
import { goesBefore } from "./fair/shares.ts";
import { type Gate, isOpen } from "./queue/gates.ts";
import type { Lane } from "./queue/lanes.ts";
import { isHeldNode } from "./runs/hold.ts";
import { type MachineState, poolOf } from "./state.ts";
import type { WorkerSlots } from "./workers/workers.ts";

const HOLDERS_MAX = 10;
/** Features that brought further reasons. */
const SINCE: Readonly<Partial<Record<WaitReason["reason"], Feature>>> = {
  WORKER_HAS_NO_FREE_SLOT: "NO_FREE_SLOT_REASON",
  SLEEPING: "SUSPENSION",
  AWAITS_SIGNAL: "SUSPENSION",
  LIFETIME_ENDS: "MAX_LIFETIME",
  WORKFLOW_PAUSED: "WORKFLOWS",
  TENANT_AT_LIMIT: "TENANT_LIMITS",
  TENANT_TURN: "TENANT_LIMITS",
};
/** Time in ms that an attempt has to reach its worker and start there, before an occupied worker counts as a reason. */
const STARTS_WITHIN_MS = 1_000;

/**
 * Lists every reason why an execution waits, or its present activity.
 * @param row the execution's row; the machine's own knowledge takes precedence
 */
export function explain(state: MachineState, row: Candidate, now: EpochMs): WaitReason[] {
  const entry = state.entries.get(row.id);
  if (entry?.assigned != null) return assignedReasons(state, entry, entry.assigned, now);
  return waitReasons(state, entry?.row ?? row, entry ?? null, now);
}

/** Leaves out reasons that some node of the cluster does not understand. @param level feature level of the cluster */
export function understoodReasons(reasons: readonly WaitReason[], level: number): readonly WaitReason[] {
  return reasons.filter(({ reason }) => {
    const feature = SINCE[reason];
    return feature === undefined || isOn(feature, level);
  });
}

/** Reason why the execution is not due yet; null: it is due. */
export function dueReason(row: Candidate, now: EpochMs): WaitReason | null {
  if (row.dueAt <= now) return null;
  if (row.steps === "SLEEPING") return { reason: "SLEEPING", until: row.dueAt };
  if (row.steps === "AWAITING") return { reason: "AWAITS_SIGNAL", until: row.dueAt };
  if (row.failures === 0 || row.dueAt <= row.scheduledAt) return { reason: "DUE_LATER", dueAt: row.dueAt };
  const { maxAttempts } = row.policy.retry;
  return { reason: "BACKOFF", until: row.dueAt, failures: row.failures, maxAttempts };
}

/** Reasons of an execution whose attempt has started. */
export function runningReasons(
  row: Candidate,
  attempt: Pick<Extract<WaitReason, { reason: "RUNNING" }>, "attempt" | "workerId" | "startedAt">,
): WaitReason[] {
  const timesOutAt = attempt.startedAt + attemptLimitMs(row, attempt.startedAt);
  return [{ reason: "RUNNING", ...attempt, timesOutAt }, ...lifetimeReasons(row, timesOutAt)];
}

/** Names the lifetime of an execution if it ends at the time at which the present wait or attempt ends. */
export function lifetimeReasons(row: Candidate, until: EpochMs): WaitReason[] {
  const endsAt = lifetimeEnd(row);
  if (until < endsAt) return [];
  return [{ reason: "LIFETIME_ENDS", endsAt, maxLifetimeSec: lifetimeMs(row.policy) / 1_000 }];
}

function assignedReasons(state: MachineState, entry: Entry, assigned: Assigned, now: EpochMs): WaitReason[] {
  const { row, timer } = entry;
  const { workerId, startedAt } = assigned;
  const { attempt } = row;
  const reasons: WaitReason[] = [];
  if (isCancelled(entry)) reasons.push({ reason: "CANCEL_REQUESTED", attempt, workerId });
  if (assigned.soughtSince !== null) {
    const until = timer?.key ?? assigned.at + state.limits.adoptWithinMs;
    reasons.push({ reason: "WORKER_AWAITED", attempt, workerId, until });
  } else if (startedAt === null) {
    reasons.push({ reason: "ASSIGNED", attempt, workerId, assignedAt: assigned.at });
    reasons.push(...slotReasons(state, assigned, now));
  } else {
    reasons.push(...runningReasons(row, { attempt, workerId, startedAt }));
  }
  return reasons;
}

function slotReasons(state: MachineState, { workerId, at }: Assigned, now: EpochMs): WaitReason[] {
  const worker = state.workers.get(workerId);
  if (worker?.freeSlots !== 0 || now - at <= STARTS_WITHIN_MS) return [];
  return [{ reason: "WORKER_HAS_NO_FREE_SLOT", workerId, stuck: worker.stuck }];
}

function waitReasons(state: MachineState, row: Candidate, entry: Entry | null, now: EpochMs): WaitReason[] {
  const due = dueReason(row, now);
  if (isRun(row)) return runReasons(state, row, entry, due);
  const reasons: WaitReason[] = due === null ? [] : [due, ...lifetimeReasons(row, row.dueAt)];
  const isHeld = isParked(state, row);
  if (isHeld) reasons.push({ reason: "WORKFLOW_PAUSED", workflowId: row.jobId });
  if (state.lanes.isStopped(row.tenant)) reasons.push({ reason: "TENANT_SUSPENDED" });
  if (poolOf(state, row.pool).paused) reasons.push({ reason: "POOL_PAUSED", pool: row.pool });
  const permit = due === null ? permitReason(state, row.pool, now) : null;
  if (permit !== null) reasons.push(permit);
  const tenant = due === null ? tenantReason(state, row) : null;
  if (tenant !== null) reasons.push(tenant);
  const gate = state.gates.find(row);
  if (gate !== null && !isOpen(gate)) reasons.push(keyReason(state, row, gate));
  // Gateways give the owner no slots for a tenant at its limit, so nothing is known about the slots of workers.
  const seeksSlot = due === null && (tenant === null || tenant.reason === "TENANT_TURN");
  const worker = workerReason(state, row, seeksSlot);
  if (worker !== null) reasons.push(worker);
  if (due === null && !isHeld) reasons.push(queueReason(state, row, entry));
  return reasons;
}

/** Reasons of a workflow run that is not open yet. No worker, pause or limit of a pool holds it back. */
function runReasons(state: MachineState, row: Candidate, entry: Entry | null, due: WaitReason | null): WaitReason[] {
  const gate = state.gates.find(row);
  const key = gate === null || isOpen(gate) || entry?.place === "OPENING" ? [] : [keyReason(state, row, gate)];
  if (isParked(state, row)) return [{ reason: "WORKFLOW_PAUSED", workflowId: row.jobId }, ...key];
  return due === null ? [...key, queueReason(state, row, entry)] : [due, ...lifetimeReasons(row, row.dueAt), ...key];
}

/** Whether the run of a node keeps it from starting. A row may say PARKED although its run goes on, until it is written. */
function isParked(state: MachineState, row: Candidate): boolean {
  const isKnown = isNodeBesideRun(row) && state.runs.byId.has(row.jobId);
  return isKnown ? isHeldNode({ state }, row) : row.queue === "PARKED";
}

/** Reason why the pool's limits hold the execution back; null: the pool has no limits, or they allow another start. */
function permitReason(state: MachineState, pool: string, now: EpochMs): WaitReason | null {
  const poolPermits = state.permits.of(pool);
  if (poolPermits === undefined || poolPermits.room(state.term) > 0) return null;
  const { taken, isComplete, nextStartAt } = poolPermits.lastAnswer;
  if (!isComplete) return { reason: "PERMIT_AWAITED", pool };
  const { maxRunning, ratePerSec } = poolPermits.limits;
  if (maxRunning !== null && taken >= maxRunning) {
    return { reason: "POOL_AT_LIMIT", pool, limit: maxRunning, running: taken };
  }
  if (ratePerSec === null || nextStartAt === null || !poolPermits.isWaiting) return null;
  return { reason: "POOL_RATE_USED", pool, ratePerSec, nextStartAt: Math.max(now, nextStartAt) };
}

/** Reason why work of the own tenant or of other ones goes first; null: none does. */
function tenantReason(state: MachineState, row: Candidate): WaitReason | null {
  const { permits, shares, lanes, term } = state;
  const { pool, tenant } = row;
  const own = permits.ofTenant(tenant);
  if (own !== undefined && own.room(term) === 0) {
    const { taken, isComplete } = own.lastAnswer;
    const limit = own.limits.maxRunning ?? 0;
    if (!isComplete) return { reason: "PERMIT_AWAITED", pool };
    if (taken >= limit) return { reason: "TENANT_AT_LIMIT", limit, running: taken };
  }
  const lane = lanes.find(row);
  if (lane !== null && isKeptFrom(lane.contender, lane.work, state)) return { reason: "TENANT_TURN" };
  const all = shares.of(pool)?.byTenant;
  const share = all?.get(tenant);
  if (all === undefined || share === undefined) return null;
  for (const other of all.values()) {
    if (other !== share && other.nodes.size > 0 && goesBefore(other, share)) return { reason: "TENANT_TURN" };
  }
  return null;
}

function keyReason(state: MachineState, row: Candidate, gate: Gate): WaitReason {
  const heldBy: KeyHolder[] = [];
  for (const { assigned, lane, id, row } of state.entries.values()) {
    if (assigned === null || lane?.gate !== gate) continue;
    heldBy.push({ executionId: id, attempt: row.attempt, workerId: assigned.workerId });
    if (heldBy.length === HOLDERS_MAX) break;
  }
  for (const [executionId, held] of state.runs.heldKeys) {
    if (heldBy.length === HOLDERS_MAX) break;
    if (held.gate === gate) heldBy.push({ executionId, attempt: 0, workerId: null });
  }
  return { reason: "KEY_AT_LIMIT", key: row.concurrencyKey ?? "", limit: gate.limit, running: gate.running, heldBy };
}

/**
 * Reason why no worker can run the execution; null: a worker could and has a free slot, or the execution seeks none
 * yet.
 */
function workerReason(state: MachineState, row: Candidate, seeksSlot: boolean): WaitReason | null {
  const { pool, handler, requires } = row;
  const inPool = [...state.workers.all()].filter((worker) => worker.group.pool === pool);
  const offering = inPool.filter(({ group }) => group.handlers.has(handler));
  if (offering.length === 0) {
    return { reason: "NO_WORKER_FOR_HANDLER", pool, handler, workersInPool: inPool.length };
  }
  const able = offering.filter((worker) => lacks(worker, requires).length === 0);
  if (able.length === 0) {
    const missing = missingCapabilities(offering, requires);
    return { reason: "NO_WORKER_WITH_CAPABILITY", handler, missing, workersWithHandler: offering.length };
  }
  const isFree = able.some(
    ({ granted, sent, draining, gateway }) => granted > sent && !draining && !state.workers.silent.has(gateway),
  );
  return isFree || !seeksSlot ? null : busyReason(able);
}

function busyReason(able: readonly WorkerSlots[]): WaitReason {
  return {
    reason: "ALL_SLOTS_BUSY",
    workers: able.length,
    draining: able.filter(({ draining }) => draining).length,
    slots: able.reduce((sum, { profile }) => sum + profile.slots, 0),
    held: able.reduce((sum, { held }) => sum + held.size, 0),
  };
}

function lacks({ group }: WorkerSlots, requires: readonly string[]): string[] {
  return requires.filter((capability) => !group.capabilities.has(capability));
}

function missingCapabilities(workers: readonly WorkerSlots[], requires: readonly string[]): string[] {
  const lacking = workers.map((worker) => lacks(worker, requires));
  const nobodyHas = requires.filter((capability) => lacking.every((missing) => missing.includes(capability)));
  if (nobodyHas.length > 0) return nobodyHas;
  return lacking.reduce((best, missing) => (missing.length < best.length ? missing : best));
}

function queueReason(state: MachineState, row: Candidate, entry: Entry | null): WaitReason {
  if (entry?.laneNode != null && entry.lane !== null) {
    const { key, tie } = entry.laneNode;
    return { reason: "QUEUED", ahead: aheadOf(entry.lane, key, tie), known: entry.lane.ready.size };
  }
  return { reason: "QUEUED", ahead: null, known: state.lanes.find(row)?.ready.size ?? 0 };
}

function aheadOf(lane: Lane, key: number, tie: string): number {
  let ahead = 0;
  for (const node of lane.ready.nodes()) if (node.key < key || (node.key === key && node.tie < tie)) ahead++;
  return ahead;
}
