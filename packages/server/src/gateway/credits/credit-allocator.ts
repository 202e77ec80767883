import type { Incarnation } from "../../domain/ids.ts";
import { DECLINED_MS, RANKS_EQUAL_WITHIN, RECALL_INTERVAL_MS, UNUSED_MS } from "../limits.ts";
import type { Account, Credits } from "./credits.ts";
import type { Claim } from "./demands.ts";

/** Decides which owners get the free slots of a worker, and which are asked to give unused ones back. */

/** @returns those whose work is the most urgent; without any that waits, everybody */
export function takersOf(
  credits: Credits,
  owners: readonly Incarnation[],
  claims: readonly Claim[],
  nowMs: number,
): readonly Incarnation[] {
  if (claims.length === 0 || owners.length === 1) return owners;
  const using = claims.filter((claim) => !isIdle(credits.account(claim.owner), claim, nowMs));
  const willing = using.filter((claim) => !hasDeclined(credits.account(claim.owner), claim, nowMs));
  // Where none of them has use for the worker, whoever has no work yet may get some that fits it.
  if (willing.length === 0) return withoutIdle(owners, claims, using);
  const first = Math.min(...willing.map((claim) => claim.rank));
  return willing.filter((claim) => claim.rank <= first + RANKS_EQUAL_WITHIN).map((claim) => claim.owner);
}

/**
 * Credits to recall: other owners hold them unused while one waits. It is asked for again and again, because each of
 * the messages may be lost, and because who has use for it now may have none soon.
 * @param recall called for those whose turn it is to be asked
 * @returns whether somebody waits for what others hold
 */
export function recallFor(
  credits: Credits,
  claims: readonly Claim[],
  nowMs: number,
  recall: (owner: Incarnation, account: Account) => void,
): boolean {
  let isPending = false;
  for (const [owner, account] of credits.accounts()) {
    if (account.outstanding === 0 || !claims.some((claim) => isWaitingFor(credits, owner, claim, nowMs))) continue;
    isPending = true;
    if (nowMs - account.recalledAtMs < RECALL_INTERVAL_MS || isAboutToUse(owner, account, claims, nowMs)) continue;
    account.recalledAtMs = nowMs;
    recall(owner, account);
  }
  return isPending;
}

/**
 * Its work waits, and it does not use what it has: it is held up, or was stopped. Its claim only grows older, and until
 * others have its shards it would draw every slot that becomes free, and nothing would go on anywhere.
 */
function isIdle(account: Account | undefined, claim: Claim, nowMs: number): boolean {
  if (account === undefined || account.outstanding === 0) return false;
  return nowMs - Math.max(account.lentAtMs, account.usedAtMs, claim.sinceMs) >= UNUSED_MS;
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

/** It was lent for work that waits, and the assignment may be on its way. */
function isAboutToUse(owner: Incarnation, account: Account, claims: readonly Claim[], nowMs: number): boolean {
  return nowMs - account.lentAtMs < RECALL_INTERVAL_MS && claims.some((claim) => claim.owner === owner);
}

function isWaitingFor(credits: Credits, holder: Incarnation, claim: Claim, nowMs: number): boolean {
  const account = credits.account(claim.owner);
  return claim.owner !== holder && !hasDeclined(account, claim, nowMs) && !isIdle(account, claim, nowMs);
}

/** Gave slots of the worker back while its work waited: that needs another worker. */
function hasDeclined(account: Account | undefined, claim: Claim, nowMs: number): boolean {
  if (account === undefined) return true;
  return account.declinedForMs > claim.sinceMs && nowMs - account.declinedAtMs < DECLINED_MS;
}
