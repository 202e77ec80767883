import { type EpochMs, SHARD_COUNT } from "../../domain/ids.ts";
import type { Demand } from "../../ports/messages.ts";
import { firstLane } from "../fair/contender.ts";
import { poolOf, type Step } from "../state.ts";
import { pickWorker } from "../workers/workers.ts";

/** Smallest increase in urgency, in ms of rank, that is worth a message. */
const RANK_STEP_MS = 1_000;

/**
 * Pools with work that some worker could run if its gateway allocated credit (slots) to this node, and for each pool
 * the rank of its most urgent such execution. The work is ready, or waits at a full worker. Paused pools are left out.
 */
function demandOf({ state }: Pick<Step, "state">): Map<string, EpochMs> {
  // The owner of all shards has all credit, so there is nobody to claim credit from.
  if (state.epochs.size === SHARD_COUNT) return new Map();
  const demand = new Map<string, EpochMs>();
  const claim = (pool: string, rank: EpochMs) => {
    demand.set(pool, Math.min(rank, demand.get(pool) ?? Number.POSITIVE_INFINITY));
  };
  for (const [{ pool }, { rank }] of state.stranded) claim(pool, rank);
  for (const pool of state.lanes.served()) {
    if (poolOf(state, pool).paused) continue;
    for (const work of state.lanes.classes(pool)) {
      const head = firstLane(work);
      if (head === undefined || work.groups.length === 0 || pickWorker(work) !== null) continue;
      claim(pool, head.key);
    }
  }
  return demand;
}

/**
 * Returns the demand if it is new or more urgent, because gateways learn of that at once. Demand that has ended needs
 * no message of its own, because the message that repeats each second leaves it out. The exception is a pool whose
 * credit was given back: without a message, a gateway would take the credit given back for an answer to later demand.
 * @returns null: gateways need not be told
 */
export function newDemand(step: Step): Demand[] | null {
  const demand = demandOf(step);
  const { toldDemand, givenBack } = step.state;
  let hasNew = false;
  for (const pool of givenBack) if (toldDemand.has(pool) && !demand.has(pool)) hasNew = true;
  // The check saves an allocation: clearing a Set allocates a new table even if the Set is empty.
  if (givenBack.size > 0) givenBack.clear();
  for (const [pool, rank] of demand) {
    const told = toldDemand.get(pool);
    if (told === undefined || rank <= told - RANK_STEP_MS) hasNew = true;
  }
  if (!hasNew) return null;
  step.state.toldDemand = demand;
  return listOf(demand);
}

/** All demand as it is now, for the announcement that goes to every gateway. */
export function currentDemand(step: Pick<Step, "state">): Demand[] {
  step.state.toldDemand = demandOf(step);
  return listOf(step.state.toldDemand);
}

function listOf(demand: ReadonlyMap<string, EpochMs>): Demand[] {
  return Array.from(demand, ([pool, rank]) => ({ pool, rank }));
}
