import { attemptKey, DEFAULT_TENANT, type EpochMs } from "../../domain/ids.ts";
import { isSameList } from "../../domain/same-list.ts";
import type { Principal } from "../../ports/authenticator.ts";
import type { Token, WorkerProfile } from "../../ports/messages.ts";
import type { Greeting } from "../connections/hello.ts";
import type { ReportedHold } from "../translate.ts";
import type { Held } from "./held.ts";
import type { GatewayContext, Session } from "./session.ts";

/** Whether the greeting is older than the one of the session's present connection. */
export function isOutdated(session: Session, { connection }: Greeting): boolean {
  return connection !== 0 && connection < session.connection;
}

/**
 * Whether the greeting comes from the session's process. Another process with the same id does not know the attempts of
 * the former one, which are lost.
 */
export function isSameProcess(session: Session, { profile, holds, connection }: Greeting): boolean {
  if (!isSameProfile(session.profile, profile)) return false;
  // A process counts its connections.
  if (connection !== 0 && connection === session.connection) return false;
  // The worker may have been at another gateway in between, and have settled its attempts there.
  if (connection > session.connection + 1 && session.connection !== 0) return true;
  const reported = new Set(holds.map(keyOf));
  for (const held of session.held) {
    if (held.state === "ASSIGNED" || held.state === "OVER") continue;
    if (!reported.has(keyOf(held))) return false;
  }
  return true;
}

/**
 * Updates the records of a worker's attempts from its hello. Returns assignments that were sent and did not arrive to
 * their owners, and adds attempts that this gateway did not know.
 */
export function reconcile(session: Session, holds: readonly ReportedHold[], context: GatewayContext): void {
  // The check avoids building thousands of keys when there is nothing to compare them with.
  if (!session.held.isEmpty) returnUndelivered(session, new Set(holds.map(keyOf)));
  for (const hold of holds) adopt(session, hold, context);
}

function adopt(session: Session, { token, startedAt, finished, over }: ReportedHold, context: GatewayContext): void {
  const { held } = session;
  const known = held.get(token.executionId, token.attempt);
  if (over && !finished) return held.settle(known ?? held.add({ token, state: "OVER", startedAt }), true);
  // The REFUSED message was lost, so the gateway reports the attempt again and its owner refuses it again.
  if (known?.state === "OVER") held.delete(token);
  if (known === null || known.state === "OVER") {
    const added = held.add({ token, state: startedAt === null ? "ASSIGNED" : "STARTED", startedAt });
    if (finished) session.finish(added, over);
  } else if (finished) session.finish(known, over);
  else noteStart(session, known, startedAt, context);
}

/** Records and reports the start of an attempt, if the gateway did not know of it. */
export function noteStart(session: Session, known: Held, startedAt: EpochMs | null, context: GatewayContext): void {
  if (startedAt === null || known.state !== "ASSIGNED") return;
  session.held.start(known);
  known.startedAt = startedAt;
  const { workerId } = session.profile;
  context.reports.started(context.owners.of(known.token.shard), { ...known.token, workerId, startedAt });
}

function returnUndelivered(session: Session, reported: ReadonlySet<string>): void {
  for (const { token, state } of [...session.held].filter((held) => !reported.has(keyOf(held)))) {
    session.held.delete(token);
    // An attempt in another state was settled at another gateway.
    if (state === "ASSIGNED") session.return(token);
  }
}

function keyOf({ token }: { token: Token }): string {
  return attemptKey(token.executionId, token.attempt);
}

/**
 * Whether a hello may go on with the session of a worker: its key is that of the session, or comes from it by rotations. A worker of
 * operators may change between a key of the settings, which is that of all of them, and one of the store.
 */
export function isSameCaller(known: Principal | null, now: Principal | null): boolean {
  if ((known?.tenant ?? DEFAULT_TENANT) !== (now?.tenant ?? DEFAULT_TENANT)) return false;
  const [before, after] = [lineOf(known), lineOf(now)];
  return before === null || after === null || before === after;
}

/** null: the key is that of all operators. */
function lineOf(principal: Principal | null): string | null {
  if (principal === null || principal.source === "SETTINGS" || principal.source === "OPEN") return null;
  return principal.line ?? principal.keyId;
}

function isSameProfile(a: WorkerProfile, b: WorkerProfile): boolean {
  return (
    a.pool === b.pool &&
    a.slots === b.slots &&
    a.prefetch === b.prefetch &&
    a.autoPrefetch === b.autoPrefetch &&
    a.name === b.name &&
    isSameList(a.handlers, b.handlers) &&
    isSameList(a.capabilities, b.capabilities)
  );
}
