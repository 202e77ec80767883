import { attemptKey, type EpochMs } from "../../domain/ids.ts";
import { isSameList } from "../../domain/same-list.ts";
import type { Token, WorkerProfile } from "../../ports/messages.ts";
import type { Greeting } from "../connections/hello.ts";
import type { ReportedHold } from "../translate.ts";
import type { Held } from "./held.ts";
import type { Session, Surroundings } from "./session.ts";

/** Whether the greeting was said before the one that the session is of: the worker has moved on since. */
export function isOutdated(session: Session, { connection }: Greeting): boolean {
  return connection !== 0 && connection < session.connection;
}

/**
 * Whether the greeting is of the process that the session is of. A process that has the same id but has forgotten what
 * it was running is another one, and what the one before it ran is lost.
 */
export function isSameProcess(session: Session, { profile, holds, connection }: Greeting): boolean {
  if (!isSameProfile(session.profile, profile)) return false;
  // A process counts its connections.
  if (connection !== 0 && connection === session.connection) return false;
  // It may have been at another gateway in between, and have settled there what it held here.
  if (connection > session.connection + 1 && session.connection !== 0) return true;
  const reported = new Set(holds.map(keyOf));
  for (const held of session.held) {
    if (held.state === "ASSIGNED" || held.state === "OVER") continue;
    if (!reported.has(keyOf(held))) return false;
  }
  return true;
}

/**
 * Brings what is known of the worker in line with what it says it holds. Hands back assignments that were sent and did
 * not arrive, and adopts attempts that the worker holds and this gateway did not know.
 */
export function reconcile(session: Session, holds: readonly ReportedHold[], shared: Surroundings): void {
  // Thousands of keys are made only where there is something to compare them with.
  if (!session.held.isEmpty) returnUndelivered(session, new Set(holds.map(keyOf)));
  for (const hold of holds) adopt(session, hold, shared);
}

function adopt(session: Session, { token, startedAt, finished, over }: ReportedHold, shared: Surroundings): void {
  const { held } = session;
  const known = held.get(token.executionId, token.attempt);
  if (over && !finished) return held.settle(known ?? held.add({ token, state: "OVER", startedAt }), true);
  // The order that refused it was lost, and is given again.
  if (known?.state === "OVER") held.delete(token);
  if (known === null || known.state === "OVER") {
    const added = held.add({ token, state: startedAt === null ? "ASSIGNED" : "STARTED", startedAt });
    if (finished) session.finish(added, over);
  } else if (finished) session.finish(known, over);
  else noteStart(session, known, startedAt, shared);
}

/** The worker says that it has begun, where the gateway did not know. */
export function noteStart(session: Session, known: Held, startedAt: EpochMs | null, shared: Surroundings): void {
  if (startedAt === null || known.state !== "ASSIGNED") return;
  session.held.advance(known, "STARTED");
  known.startedAt = startedAt;
  const { workerId } = session.profile;
  shared.news.started(shared.owners.of(known.token.shard), { ...known.token, workerId, startedAt });
}

function returnUndelivered(session: Session, reported: ReadonlySet<string>): void {
  for (const { token, state } of [...session.held].filter((held) => !reported.has(keyOf(held)))) {
    session.held.delete(token);
    // Else it was settled at another gateway.
    if (state === "ASSIGNED") session.return(token);
  }
}

function keyOf({ token }: { token: Token }): string {
  return attemptKey(token.executionId, token.attempt);
}

function isSameProfile(a: WorkerProfile, b: WorkerProfile): boolean {
  return (
    a.pool === b.pool &&
    a.slots === b.slots &&
    a.prefetch === b.prefetch &&
    a.name === b.name &&
    isSameList(a.handlers, b.handlers) &&
    isSameList(a.capabilities, b.capabilities)
  );
}
