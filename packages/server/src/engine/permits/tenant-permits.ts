import { tenantLimit } from "../../domain/tenant-limit.ts";
import { type Contender, rankOf, readyOf, refreshContender } from "../fair/contender.ts";
import type { WorkClass } from "../queue/lanes.ts";
import { type MachineState, poolOf, type Step } from "../state.ts";
import { pickWorker } from "../workers/workers.ts";
import { openFirst, setLimits } from "./accounts.ts";
import type { Permits } from "./permits.ts";
import { PoolPermits, type Wish } from "./pool-permits.ts";

/**
 * Limits of tenants: an attempt needs a permit of its tenant beside that of its pool. The tenant's permit is asked for first, and
 * the work of a tenant without permits counts neither as demand for slots nor as a wish for permits of the pool.
 */

/** Tenants without use or wish for which a second's calls are repeated, so that a new coordinator learns of them. */
const IDLE_CALLS = 200;

/** Applies the limits of tenants, which may have been added, changed or removed. */
export function followTenantLimits({ state }: Step, limits: ReadonlyMap<string, number>): void {
  const { permits } = state;
  for (const [tenant, known] of permits.byTenant) if (!limits.has(tenant)) forget(permits, tenant, known);
  const added: PoolPermits[] = [];
  for (const [tenant, maxRunning] of limits) {
    const known = permits.byTenant.get(tenant);
    if (known !== undefined) setLimits(state, known, { maxRunning, ratePerSec: null });
    else {
      const ofTenant = new PoolPermits(tenantLimit(tenant), { maxRunning, ratePerSec: null });
      permits.byTenant.set(tenant, ofTenant);
      added.push(ofTenant);
    }
  }
  if (added.length > 0) begin(state, new Set(added));
}

function forget(permits: Permits, tenant: string, known: PoolPermits): void {
  permits.byTenant.delete(tenant);
  permits.active.delete(known);
  unblock(permits, known);
}

function begin(state: MachineState, added: ReadonlySet<PoolPermits>): void {
  const { permits, entries, runs } = state;
  const adopt = (tenant: string, shard: number) => {
    const ofTenant = permits.byTenant.get(tenant);
    if (ofTenant !== undefined && added.has(ofTenant)) ofTenant.adopted(shard);
  };
  for (const { row, place } of entries.values()) if (place === "ASSIGNED") adopt(row.tenant, row.shard);
  for (const { row } of runs.unborn.values()) adopt(row.tenant, row.shard);
  for (const ofTenant of added) openFirst(state, ofTenant);
}

/** Whether the limit of the tenant allows another assignment. */
export function hasTenantRoom({ permits, term }: MachineState, tenant: string): boolean {
  const ofTenant = permits.ofTenant(tenant);
  return ofTenant === undefined || ofTenant.room(term) > 0;
}

/** First tenant of the class that may run something. Tenants without permits leave the order until they have some. */
export function firstContender(state: MachineState, work: WorkClass): Contender | undefined {
  for (;;) {
    const first = work.contenders.peek()?.item;
    if (!first?.share || hasTenantRoom(state, first.share.tenant)) return first;
    block(state.permits, first, first.share.tenant);
  }
}

function block(permits: Permits, contender: Contender, tenant: string): void {
  const ofTenant = permits.ofTenant(tenant);
  if (ofTenant === undefined) return;
  contender.isBlocked = true;
  refreshContender(contender);
  const blocked = permits.blocked.get(ofTenant);
  if (blocked === undefined) permits.blocked.set(ofTenant, new Set([contender]));
  else blocked.add(contender);
  permits.active.add(ofTenant);
}

/** Lets tenants that have permits now take part in the order again. */
export function unblockTenants({ permits, term }: MachineState): void {
  for (const ofTenant of permits.blocked.keys()) if (ofTenant.room(term) > 0) unblock(permits, ofTenant);
}

function unblock(permits: Permits, ofTenant: PoolPermits): void {
  const blocked = permits.blocked.get(ofTenant);
  if (blocked === undefined) return;
  permits.blocked.delete(ofTenant);
  for (const contender of blocked) {
    contender.isBlocked = false;
    refreshContender(contender);
  }
}

/** Tenants for which a call may be due: those that are active, and in repeated calls some of the others in turn. */
export function tenantsToCall(permits: Permits, isRepeat: boolean): PoolPermits[] {
  const { active, byTenant } = permits;
  if (!isRepeat || active.size === byTenant.size) return [...active];
  const all = [...byTenant.values()];
  const from = permits.idleFrom % all.length;
  permits.idleFrom = from + IDLE_CALLS;
  const idle = [...all.slice(from), ...all.slice(0, from)].slice(0, IDLE_CALLS);
  return [...active, ...idle.filter((ofTenant) => !active.has(ofTenant))];
}

/**
 * Work of the tenant that could start with more permits.
 * @returns undefined: the wish is unchanged; null: there is none, or the permits suffice
 */
export function awaitedByTenant(
  { state }: Step,
  ofTenant: PoolPermits,
  isRepeat: boolean,
): (() => Wish) | null | undefined {
  if (ofTenant.room(state.term) > 0) return null;
  const blocked = state.permits.blocked.get(ofTenant);
  if (blocked === undefined) return null;
  for (const contender of blocked) if (contender.lanes.size === 0) blocked.delete(contender);
  if (blocked.size === 0) state.permits.blocked.delete(ofTenant);
  const startable = [...blocked].filter(({ work }) => work.groups.length > 0 && !poolOf(state, work.pool).paused);
  if (startable.length === 0) return null;
  if (ofTenant.isWaiting && !isRepeat) return undefined;
  return () => wishOf(state, startable);
}

/**
 * Wish for permits of a tenant. A class without a free worker counts with one, because slots are asked for when the tenant has
 * a permit.
 */
function wishOf({ limits }: MachineState, contenders: readonly Contender[]): Wish {
  let [count, rank] = [0, Number.POSITIVE_INFINITY];
  for (const contender of contenders) {
    const { work } = contender;
    let credit = 0;
    if (pickWorker(work) !== null) {
      for (const { free } of work.groups) for (const { item } of free.nodes()) credit += item.granted - item.sent;
    }
    count += Math.min(readyOf(contender), Math.max(1, credit));
    rank = Math.min(rank, rankOf(contender));
  }
  return { count: Math.min(count, limits.batchAssigns), rank };
}
