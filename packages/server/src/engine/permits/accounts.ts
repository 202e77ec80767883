import type { MachineState } from "../state.ts";
import type { PoolLimits } from "./permit-ledger.ts";
import type { PoolPermits } from "./pool-permits.ts";

/** The machine's accounts under the names of limits. */

/** Applies changed limits. Permits that were granted by a higher limit are dropped. */
export function setLimits(state: MachineState, known: PoolPermits, limits: PoolLimits): void {
  const before = known.limits.maxRunning;
  const { maxRunning } = limits;
  const isOther = before === null || maxRunning === null ? before !== maxRunning : maxRunning < before;
  known.limits = limits;
  if (isOther) known.clear();
  if (isOther) open(state, known);
}

/** Opens an account with the coordinator, as far as it is known. */
export function openFirst(state: MachineState, poolPermits: PoolPermits): void {
  poolPermits.hears(state.permits.seen.get(poolPermits.coordinator) ?? 0);
  open(state, poolPermits);
}

/** Opens an account. */
export function open(state: MachineState, poolPermits: PoolPermits): void {
  if (state.epochs.size === 0) return;
  poolPermits.open(++state.permits.accounts, state.term, state.epochs);
  if (poolPermits.tenant !== null) state.permits.active.add(poolPermits);
}
