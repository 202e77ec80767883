import type { Token } from "../../ports/messages.ts";
import { AHEAD_WAITS_MAX_MS, TAKE_BACK_EVERY_MS } from "../limits.ts";
import { wireTokenOf } from "../translate.ts";
import type { GatewayContext, Session } from "./session.ts";

/** Asks a worker without a free slot to hand back attempts that wait there, at most once in `TAKE_BACK_EVERY_MS`. */
export function takeBack(session: Session, tokens: readonly Token[], nowMs: number): void {
  const { held, profile, outgoing } = session;
  if (!session.isAuthority || session.link === null || nowMs - session.tookBackAtMs < TAKE_BACK_EVERY_MS) return;
  // A worker with a free slot is about to start the attempts.
  if (held.running + held.stuck < profile.slots) return;
  const waiting = tokens.filter((token) => held.get(token.executionId, token.attempt)?.state === "ASSIGNED");
  if (waiting.length === 0) return;
  session.tookBackAtMs = nowMs;
  outgoing.takeBack.push(...waiting.map(wireTokenOf));
}

/**
 * Takes back what a worker with automatic prefetch should no longer have, because its handlers have become slow:
 * attempts that have waited for too long, and credit beyond its free slots.
 */
export function shedAhead(session: Session, { reports }: GatewayContext, nowMs: number): void {
  if (session.ahead === null || session.link === null) return;
  const overdue = overdueAt(session, nowMs);
  if (overdue.length > 0) {
    session.ahead.reset();
    takeBack(session, overdue, nowMs);
  }
  // While the worker is quick, its owners use the credit soon.
  if (session.ahead.allowed(nowMs) > 0 || session.credits.outstanding <= session.room) return;
  for (const [owner, account] of session.credits.accounts()) {
    if (account.outstanding > 0) reports.revoke(owner, session.profile.workerId, account);
  }
}

/** Attempts that have waited for too long while every slot is taken. */
function overdueAt({ held, free }: Session, nowMs: number): Token[] {
  const overdue: Token[] = [];
  if (held.waiting === 0 || free > 0) return overdue;
  for (const { state, sentAtMs, token } of held) {
    if (state === "ASSIGNED" && sentAtMs <= nowMs - AHEAD_WAITS_MAX_MS) overdue.push(token);
  }
  return overdue;
}
