import type { Incarnation } from "../../domain/ids.ts";
import { DECLINED_MS, RANKS_EQUAL_WITHIN, REVOKE_INTERVAL_MS, SHARES_EQUAL_WITHIN, UNUSED_MS } from "../limits.ts";
import type { Account, Credits } from "./credits.ts";
import type { Claim } from "./demands.ts";

/** Decides which owners get the free slots of a worker, and which must give unused credits back. */

/** @returns the owners with the most urgent work; all owners if none has waiting work */
export function recipientsOf(
  credits: Credits,
  owners: readonly Incarnation[],
  claims: readonly Claim[],
  nowMs: number,
): readonly Incarnation[] {
  if (claims.length === 0 || owners.length === 1) return owners;
  const using = claims.filter((claim) => !isIdle(credits.account(claim.owner), claim, nowMs));
  const willing = using.filter((claim) => !hasDeclined(credits.account(claim.owner), claim, nowMs));
  // If no claiming owner can use the worker, owners without a claim may soon get work that fits it.
  if (willing.length === 0) return withoutIdle(owners, claims, using);
  const fair = ofSmallestShare(willing);
  const first = Math.min(...fair.map((claim) => claim.rank));
  return fair.filter((claim) => claim.rank <= first + RANKS_EQUAL_WITHIN).map((claim) => claim.owner);
}

/** Claims for the tenant with the fewest attempts per weight. Ranks alone decide while an owner knows of no second tenant. */
function ofSmallestShare(claims: readonly Claim[]): readonly Claim[] {
  let smallest = Number.POSITIVE_INFINITY;
  for (const { share } of claims) {
    if (share === undefined) return claims;
    smallest = Math.min(smallest, share);
  }
  return claims.filter(({ share = 0 }) => share <= smallest * (1 + SHARES_EQUAL_WITHIN));
}

/**
 * Asks owners to give back credits that they hold unused while another owner waits. The gateway repeats the request,
 * because messages may be lost and because an owner that uses its credits now may stop doing so.
 * @param revoke called for each owner whose turn it is to be asked
 * @returns whether an owner waits for credits that others hold
 */
export function revokeFor(
  credits: Credits,
  claims: readonly Claim[],
  nowMs: number,
  revoke: (owner: Incarnation, account: Account) => void,
): boolean {
  let isPending = false;
  for (const [owner, account] of credits.accounts()) {
    if (account.outstanding === 0 || !claims.some((claim) => isWaitingFor(credits, owner, claim, nowMs))) continue;
    isPending = true;
    if (nowMs - account.revokedAtMs < REVOKE_INTERVAL_MS || isAboutToUse(owner, account, claims, nowMs)) continue;
    account.revokedAtMs = nowMs;
    revoke(owner, account);
  }
  return isPending;
}

/**
 * Whether an owner has waiting work but does not use its credits: it is stalled or stopped. Without this check, its
 * ageing claim would attract every free slot until other nodes take over its shards, and no work would proceed.
 */
function isIdle(account: Account | undefined, claim: Claim, nowMs: number): boolean {
  if (account === undefined || account.outstanding === 0) return false;
  return nowMs - Math.max(account.allocatedAtMs, account.usedAtMs, claim.sinceMs) >= UNUSED_MS;
}

function withoutIdle(
  owners: readonly Incarnation[],
  claims: readonly Claim[],
  using: readonly Claim[],
): readonly Incarnation[] {
  if (using.length === claims.length) return owners;
  const idle = new Set(claims.filter((claim) => !using.includes(claim)).map(({ owner }) => owner));
  const others = owners.filter((owner) => !idle.has(owner));
  return others.length > 0 ? others : owners;
}

/** Whether the credit was allocated so recently for waiting work that its assignment may be on the way. */
function isAboutToUse(owner: Incarnation, account: Account, claims: readonly Claim[], nowMs: number): boolean {
  return nowMs - account.allocatedAtMs < REVOKE_INTERVAL_MS && claims.some((claim) => claim.owner === owner);
}

function isWaitingFor(credits: Credits, holder: Incarnation, claim: Claim, nowMs: number): boolean {
  const account = credits.account(claim.owner);
  return claim.owner !== holder && !hasDeclined(account, claim, nowMs) && !isIdle(account, claim, nowMs);
}

/** Whether the owner gave credits of the worker back although its work waited: this work needs another worker. */
function hasDeclined(account: Account | undefined, claim: Claim, nowMs: number): boolean {
  if (account === undefined) return true;
  return account.declinedForMs > claim.sinceMs && nowMs - account.declinedAtMs < DECLINED_MS;
}
