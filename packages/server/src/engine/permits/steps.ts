import type { Incarnation, ShardId } from "../../domain/ids.ts";
import { coordinatorOf, isLimited, type Pool } from "../../domain/pool.ts";
import type { PermitAnswer, PermitCall } from "../../ports/messages.ts";
import { isFull, startable, urgency } from "../queue/dispatch.ts";
import type { MachineState, Step } from "../state.ts";
import { poolOf } from "../state.ts";
import { open, openFirst, setLimits } from "./accounts.ts";
import { PoolPermits, type Wish } from "./pool-permits.ts";
import { awaitedByTenant, tenantsToCall } from "./tenant-permits.ts";

/** Actions of the machine about permits, at each point of a step. */

const REPEAT_EVERY_MS = 1_000;

/** Applies the pools' limits, which may have been added, changed or removed. */
export function followLimits({ state }: Step, pools: readonly Pool[]): void {
  const limited = new Map(pools.filter(isLimited).map((pool) => [pool.name, pool]));
  for (const name of state.permits.byPool.keys()) if (!limited.has(name)) state.permits.byPool.delete(name);
  for (const { name, maxRunning, ratePerSec } of limited.values()) {
    const limits = { maxRunning, ratePerSec };
    const known = state.permits.byPool.get(name);
    if (known === undefined) begin(state, new PoolPermits(name, limits));
    else setLimits(state, known, limits);
  }
}

function begin(state: MachineState, poolPermits: PoolPermits): void {
  state.permits.byPool.set(poolPermits.pool, poolPermits);
  for (const { row, place } of state.entries.values()) {
    if (place === "ASSIGNED" && row.pool === poolPermits.pool) poolPermits.adopted(row.shard);
  }
  for (const { row } of state.runs.unborn.values()) if (row.pool === poolPermits.pool) poolPermits.adopted(row.shard);
  openFirst(state, poolPermits);
}

/** Opens accounts for shards that were taken over. Called after their attempts were adopted. */
export function permitsOwned({ state }: Step, shards: Iterable<ShardId>): void {
  const owned = [...shards];
  state.permits.owned(owned);
  for (const poolPermits of state.permits.all()) {
    poolPermits.owned(owned);
    openFirst(state, poolPermits);
  }
}

/** Notes that shards were lost. Called before the machine forgets their epochs. */
export function permitsLost({ state }: Step, shards: ReadonlySet<ShardId>): void {
  state.permits.lost(shards, coordinatorOf);
  for (const poolPermits of state.permits.all()) {
    for (const shard of shards) poolPermits.lost(shard, state.epochs.get(shard) ?? 0);
  }
}

/** Opens accounts anew. Called when the machine has forgotten the epochs of lost shards. */
export function reopen({ state }: Step): void {
  for (const poolPermits of state.permits.all()) open(state, poolPermits);
}

export function applyPermitMessage(step: Step, from: Incarnation, message: PermitCall | PermitAnswer): void {
  const { state, now } = step;
  const { permits, epochs } = state;
  if (message.kind === "PERMIT_CALL") {
    const coordinator = coordinatorOf(message.pool);
    const epoch = epochs.get(coordinator);
    if (epoch === undefined) return;
    const ledger = permits.ledger(message.pool, coordinator, epoch);
    ledger.take(from, message, now);
    permits.due.add(ledger);
    return;
  }
  const poolPermits = permits.named(message.pool);
  if (poolPermits === undefined || message.life !== state.life) return;
  if (poolPermits.tenant !== null) permits.active.add(poolPermits);
  if (poolPermits.take(message, now)) open(state, poolPermits);
}

/** Grants permits that were returned or that a rate allows now. */
export function dealPermits({ state, now }: Step): void {
  for (const ledger of state.permits.due) {
    const limits = state.permits.named(ledger.pool)?.limits ?? null;
    for (const { node, answer } of ledger.deal(limits, now)) {
      state.permits.letters.push({ toNode: node, message: answer });
    }
    if (ledger.dealAt === null) state.permits.due.delete(ledger);
  }
}

/** Sends the coordinators' messages at the end of a step. */
export function callCoordinators(step: Step): void {
  const { state, now } = step;
  const { permits } = state;
  if (permits.byPool.size === 0 && permits.byTenant.size === 0) return;
  // A clock that was set back must not delay the repetition.
  const isRepeat = now >= permits.repeatAt || permits.repeatAt > now + REPEAT_EVERY_MS;
  if (isRepeat) permits.repeatAt = now + REPEAT_EVERY_MS;
  for (const poolPermits of permits.byPool.values()) {
    const wish = poolPermits.isWaiting && !isRepeat ? stillWished(step, poolPermits.pool) : wishOf(step, poolPermits);
    const call = poolPermits.call(wish, state.life, now, isRepeat);
    if (call !== null) permits.letters.push({ toOwnerOf: poolPermits.coordinator, message: call });
  }
  if (permits.byTenant.size === 0) return;
  for (const ofTenant of tenantsToCall(permits, isRepeat)) {
    const call = ofTenant.call(awaitedByTenant(step, ofTenant, isRepeat), state.life, now, isRepeat);
    if (call !== null) permits.letters.push({ toOwnerOf: ofTenant.coordinator, message: call });
    if (ofTenant.isIdle && !permits.blocked.has(ofTenant)) permits.active.delete(ofTenant);
  }
}

/**
 * Whether the pool still has work that could start. During the wait for an answer the machine does not count its work
 * again: the repetition within a second does. But if no worker is free any more, the machine says so at once, or starts
 * would be lost that other machines could use. This happens often when several owners have work for the same workers,
 * because each owner then has free workers only for moments.
 * @returns undefined: the wish is unchanged; null: nothing can start
 */
function stillWished(step: Step, pool: string): undefined | null {
  return urgency(step, pool) === null ? null : undefined;
}

/** Work that could start with more permits; null: there is none, or the permits suffice. */
function wishOf(step: Step, poolPermits: PoolPermits): (() => Wish) | null {
  const { pool } = poolPermits;
  if (isFull(step) || poolPermits.room(step.state.term) > 0 || poolOf(step.state, pool).paused) return null;
  const rank = urgency(step, pool);
  return rank === null ? null : () => ({ rank, count: startable(step, pool) });
}

/** Time of the next call or grant that does not depend on an input; null: there is none. */
export function nextPermitRing({ permits }: MachineState): number | null {
  let at = permits.byPool.size === 0 && permits.byTenant.size === 0 ? null : permits.repeatAt;
  for (const { dealAt } of permits.due) if (dealAt !== null && (at === null || dealAt < at)) at = dealAt;
  return at;
}
