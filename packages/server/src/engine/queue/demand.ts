import { type EpochMs, SHARD_COUNT } from "../../domain/ids.ts";
import type { Demand } from "../../ports/share-messages.ts";
import { firstLane } from "../fair/contender.ts";
import { isKeptFrom } from "../fair/headroom.ts";
import { keyOf, reorder } from "../fair/shares.ts";
import { type MachineState, poolOf, type Step } from "../state.ts";
import { pickWorker } from "../workers/workers.ts";

/** Smallest increase in urgency, in ms of rank, that is worth a message. */
const RANK_STEP_MS = 1_000;
/** Smallest change of a share that is worth a message, as a part of it, and the time in ms between such messages. */
const SHARE_STEP = 0.1;
const SHARES_EVERY_MS = 50;

/**
 * Pools with work that some worker could run if its gateway allocated credit (slots) to this node, and for each pool
 * the rank of its most urgent such execution, or of the tenant whose turn it is. The work is ready, or waits at a full
 * worker. Paused pools are left out.
 */
function demandOf({ state }: Pick<Step, "state">): Map<string, Demand> {
  // The owner of all shards has all credit, so there is nobody to claim credit from.
  if (state.epochs.size === SHARD_COUNT) return new Map();
  const demand = new Map<string, Demand>();
  const { isTelling } = state.shares;
  const claim = (pool: string, rank: EpochMs, share: number) => {
    const other = { pool, rank, ...(isTelling && { share }) };
    const known = demand.get(pool);
    if (known === undefined || isMoreUrgent(other, known)) demand.set(pool, other);
  };
  for (const [{ pool }, { rank, share }] of state.stranded) claim(pool, rank, share);
  for (const pool of state.lanes.served()) if (!poolOf(state, pool).paused) claimReady(state, pool, claim);
  return demand;
}

function claimReady(
  state: MachineState,
  pool: string,
  claim: (pool: string, rank: number, share: number) => void,
): void {
  const shares = state.shares.of(pool);
  if (shares !== undefined) reorder(shares);
  for (const work of state.lanes.classes(pool)) {
    const head = firstLane(work);
    const first = work.contenders.peek()?.item;
    if (head === undefined || !first?.share || work.groups.length === 0 || pickWorker(work) !== null) continue;
    // A further slot would be headroom. Owners that claimed it for this tenant would take it from each other in turns.
    if (isKeptFrom(first, work, state, 1)) continue;
    claim(pool, head.key, keyOf(first.share));
  }
}

function isMoreUrgent(a: Demand, b: Demand): boolean {
  if (a.share !== b.share && a.share !== undefined && b.share !== undefined) return a.share < b.share;
  return a.rank < b.rank;
}

/**
 * Returns the demand if it is new or more urgent, because gateways learn of that at once. Demand that has ended needs
 * no message of its own, because the message that repeats each second leaves it out. The exception is a pool whose
 * credit was given back: without a message, a gateway would take the credit given back for an answer to later demand.
 * Between several tenants each assignment changes the demand, so gateways are told after some ms, and of less urgent
 * demand too: the slots would go to a tenant that has had its share meanwhile.
 * @returns null: gateways need not be told
 */
export function newDemand(step: Step): Demand[] | null {
  const demand = demandOf(step);
  const { toldDemand, toldDemandAt, givenBack } = step.state;
  const sinceMs = step.now - toldDemandAt;
  // Negative: the clock was set back.
  const isQuiet = sinceMs < 0 || sinceMs >= SHARES_EVERY_MS;
  let hasNew = false;
  for (const pool of givenBack) if (toldDemand.has(pool) && !demand.has(pool)) hasNew = true;
  // The check saves an allocation: clearing a Set allocates a new table even if the Set is empty.
  if (givenBack.size > 0) givenBack.clear();
  for (const [pool, now] of demand) {
    const told = toldDemand.get(pool);
    if (told === undefined) hasNew = true;
    else if (now.share === undefined || told.share === undefined) hasNew ||= now.rank <= told.rank - RANK_STEP_MS;
    else if (isQuiet) hasNew ||= hasMoved(now.share, told.share) || now.rank <= told.rank - RANK_STEP_MS;
  }
  if (!hasNew) return null;
  step.state.toldDemand = demand;
  step.state.toldDemandAt = step.now;
  return [...demand.values()];
}

function hasMoved(share: number, told: number): boolean {
  return Math.abs(share - told) > SHARE_STEP * Math.max(share, told);
}

/** All demand as it is now, for the announcement that goes to every gateway. */
export function currentDemand(step: Pick<Step, "state">): Demand[] {
  step.state.toldDemand = demandOf(step);
  return [...step.state.toldDemand.values()];
}
