import type { WorkerId } from "../../domain/ids.ts";
import type { Token } from "../../ports/messages.ts";
import type { Entry } from "../entry.ts";
import type { WorkClass } from "../queue/lanes.ts";
import { poolOf, type Step } from "../state.ts";
import type { WorkerSlots } from "./workers.ts";

/** Attempts in one request. */
const TOKENS_MAX = 1_000;

/**
 * Attempts that wait at a worker while another one has a free slot for them: their gateway is asked to take back what has not
 * started. So a worker that is slow, or whose handlers do not end, keeps nothing from the others for longer than a moment.
 */
export function takeBackWaiting(step: Step): void {
  const { unstarted } = step.state;
  if (unstarted.size === 0) return;
  const room = new Map<WorkClass, number>();
  const wanted = new Map<WorkerSlots, Token[]>();
  for (const entry of unstarted) {
    const worker = movable(step, entry);
    const work = entry.lane?.work;
    if (worker === null || work === undefined) continue;
    const left = room.get(work) ?? freeSlots(work);
    const tokens = wanted.get(worker) ?? [];
    // Free slots of its own: it is about to start what waits there.
    if (left === 0 || worker.freeSlots !== 0 || tokens.length === TOKENS_MAX) continue;
    room.set(work, left - 1);
    wanted.set(worker, tokens);
    tokens.push({ shard: entry.row.shard, executionId: entry.id, attempt: entry.row.attempt });
  }
  for (const [worker, tokens] of wanted) send(step, worker, worker.profile.workerId, tokens);
}

function movable({ state }: Step, { assigned, row }: Entry): WorkerSlots | null {
  if (assigned === null || assigned.startedAt !== null || assigned.stopping !== null) return null;
  return assigned.soughtSince === null && !poolOf(state, row.pool).paused ? assigned.worker : null;
}

/** Slots that workers of this class have free and that were lent to this owner. */
function freeSlots(work: WorkClass): number {
  let free = 0;
  for (const group of work.groups) {
    for (const { item } of group.free.nodes()) free += Math.min(item.granted - item.sent, item.freeSlots ?? 0);
  }
  return free;
}

function send({ batch }: Step, worker: WorkerSlots, workerId: WorkerId, tokens: Token[]): void {
  batch.toGateway.push({ node: worker.gateway, message: { kind: "TAKE_BACK", workerId, tokens } });
}
