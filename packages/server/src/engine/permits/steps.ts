import type { Incarnation, ShardId } from "../../domain/ids.ts";
import { homeOf, isLimited, type Pool } from "../../domain/pool.ts";
import type { PermitAnswer, PermitCall } from "../../ports/messages.ts";
import { isFull, startable, urgency } from "../queue/dispatch.ts";
import type { MachineState, Step } from "../state.ts";
import { poolOf } from "../state.ts";
import { Holding, type Wish } from "./holding.ts";

/** Actions of the machine about permits, at each point of a step. */

const ROLL_EVERY_MS = 1_000;

/** Limits may have come, changed or gone. */
export function followLimits({ state }: Step, pools: readonly Pool[]): void {
  const limited = new Map(pools.filter(isLimited).map((pool) => [pool.name, pool]));
  for (const name of state.permits.holdings.keys()) if (!limited.has(name)) state.permits.holdings.delete(name);
  for (const { name, maxRunning, ratePerSec } of limited.values()) {
    const limits = { maxRunning, ratePerSec };
    const known = state.permits.holdings.get(name);
    if (known === undefined) begin(state, new Holding(name, limits));
    else {
      const before = known.limits.maxRunning;
      // With a lower limit nothing stays in hand that was granted by the higher one.
      const isOther = before === null || maxRunning === null ? before !== maxRunning : maxRunning < before;
      known.limits = limits;
      if (isOther) known.clear();
      if (isOther) open(state, known);
    }
  }
}

function begin(state: MachineState, holding: Holding): void {
  state.permits.holdings.set(holding.pool, holding);
  for (const { row, place } of state.entries.values()) {
    if (place === "ASSIGNED" && row.pool === holding.pool) holding.adopted(row.shard);
  }
  holding.hears(state.permits.seen.get(holding.home) ?? 0);
  open(state, holding);
}

function open(state: MachineState, holding: Holding): void {
  if (state.epochs.size > 0) holding.open(++state.permits.accounts, state.term, state.epochs);
}

/** After their attempts were adopted. */
export function permitsOwned({ state }: Step, shards: Iterable<ShardId>): void {
  const owned = [...shards];
  state.permits.owned(owned);
  for (const holding of state.permits.holdings.values()) {
    holding.owned(owned);
    holding.hears(state.permits.seen.get(holding.home) ?? 0);
    open(state, holding);
  }
}

/** Before their epochs are forgotten. */
export function permitsLost({ state }: Step, shards: ReadonlySet<ShardId>): void {
  state.permits.lost(shards, homeOf);
  for (const holding of state.permits.holdings.values()) {
    for (const shard of shards) holding.lost(shard, state.epochs.get(shard) ?? 0);
  }
}

/** When they are forgotten. */
export function reopen({ state }: Step): void {
  for (const holding of state.permits.holdings.values()) open(state, holding);
}

export function takePermitMail(step: Step, from: Incarnation, message: PermitCall | PermitAnswer): void {
  const { state, now } = step;
  const { permits, epochs } = state;
  if (message.kind === "PERMIT_CALL") {
    const home = homeOf(message.pool);
    const epoch = epochs.get(home);
    if (epoch !== undefined) permits.ledger(message.pool, home, epoch).take(from, message, now);
    return;
  }
  const holding = permits.of(message.pool);
  if (holding === undefined || message.life !== state.life) return;
  if (holding.take(message, now)) open(state, holding);
}

/** Deals out permits that came back or fell due by a rate. */
export function dealPermits({ state, now }: Step): void {
  for (const ledger of state.permits.ledgers.values()) {
    const limits = state.permits.holdings.get(ledger.pool)?.limits ?? null;
    for (const { node, answer } of ledger.deal(limits, now)) {
      state.permits.letters.push({ toNode: node, message: answer });
    }
  }
}

/** At the end of a step: what homes are to be told. */
export function callHomes(step: Step): void {
  const { state, now } = step;
  const { permits } = state;
  if (permits.holdings.size === 0) return;
  // A clock that was set back does not hold it up.
  const isRoll = now >= permits.rollAt || permits.rollAt > now + ROLL_EVERY_MS;
  if (isRoll) permits.rollAt = now + ROLL_EVERY_MS;
  for (const holding of permits.holdings.values()) {
    const wish = holding.isWaiting && !isRoll ? stillWished(step, holding.pool) : wishOf(step, holding);
    const call = holding.call(wish, state.life, now, isRoll);
    if (call !== null) permits.letters.push({ toOwnerOf: holding.home, message: call });
  }
}

/**
 * While it waits for an answer its lanes are not looked through: within a second they are. But when no worker is free any
 * more it says so at once, or starts would go by that others could use: it may have free ones for an instant only, again and
 * again, where several owners have work for them.
 */
function stillWished(step: Step, pool: string): undefined | null {
  return urgency(step, pool) === null ? null : undefined;
}

/** Work that could start if there were permits; null: there is none, or there are enough permits. */
function wishOf(step: Step, holding: Holding): (() => Wish) | null {
  const { pool } = holding;
  if (isFull(step) || holding.room(step.state.term) > 0 || poolOf(step.state, pool).paused) return null;
  const rank = urgency(step, pool);
  return rank === null ? null : () => ({ rank, count: startable(step, pool) });
}

/** When homes are to be called, or permits dealt, though nothing comes; null: never. */
export function nextPermitRing({ permits }: MachineState): number | null {
  let at = permits.holdings.size === 0 ? null : permits.rollAt;
  for (const { dealAt } of permits.ledgers.values()) if (dealAt !== null && (at === null || dealAt < at)) at = dealAt;
  return at;
}
