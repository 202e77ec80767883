import { type EpochMs, SHARD_COUNT } from "../../domain/ids.ts";
import type { Demand } from "../../ports/messages.ts";
import { poolOf, type Step } from "../state.ts";
import { pickWorker } from "../workers/workers.ts";

/** A change of rank below this is not worth a message: ranks are milliseconds. */
const RANK_STEP_MS = 1_000;

/** Pools that have ready work which some worker could run if it had credit, with the rank of the most urgent. */
function demandOf({ state }: Pick<Step, "state">): Map<string, EpochMs> {
  const demand = new Map<string, EpochMs>();
  // The owner of everything has all credit there is.
  if (state.epochs.size === SHARD_COUNT) return demand;
  for (const pool of state.lanes.served()) {
    if (poolOf(state, pool).paused) continue;
    for (const work of state.lanes.classes(pool)) {
      const head = work.lanes.peek();
      if (head === undefined || work.groups.length === 0 || pickWorker(work) !== null) continue;
      demand.set(pool, Math.min(head.key, demand.get(pool) ?? Number.POSITIVE_INFINITY));
    }
  }
  return demand;
}

/**
 * New or more urgent demand, which gateways hear at once. Demand that has gone is not news worth a message; it is
 * left out of what is repeated each second. The exception is a pool to which credit was given back: the gateways must not
 * take that for an answer to demand that comes later.
 */
export function newDemand(step: Step): Demand[] | null {
  const demand = demandOf(step);
  const { toldDemand, givenBack } = step.state;
  let isNews = false;
  for (const pool of givenBack) if (toldDemand.has(pool) && !demand.has(pool)) isNews = true;
  // To clear a Set makes a new table, empty or not.
  if (givenBack.size > 0) givenBack.clear();
  for (const [pool, rank] of demand) {
    const told = toldDemand.get(pool);
    if (told === undefined || rank <= told - RANK_STEP_MS) isNews = true;
  }
  if (!isNews) return null;
  step.state.toldDemand = demand;
  return listOf(demand);
}

/** All of it, as it is now, for the announcement that tells it to every gateway. */
export function currentDemand(step: Pick<Step, "state">): Demand[] {
  step.state.toldDemand = demandOf(step);
  return listOf(step.state.toldDemand);
}

function listOf(demand: ReadonlyMap<string, EpochMs>): Demand[] {
  return Array.from(demand, ([pool, rank]) => ({ pool, rank }));
}
