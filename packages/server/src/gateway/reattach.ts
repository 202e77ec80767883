import { attemptKey } from "../domain/ids.ts";
import { isSameList } from "../domain/same-list.ts";
import type { Token, WorkerProfile } from "../ports/messages.ts";
import type { Greeting } from "./hello.ts";
import type { Session, Surroundings } from "./session.ts";
import type { ReportedHold } from "./translate.ts";

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
    if (held.state !== "ASSIGNED" && !reported.has(keyOf(held))) return false;
  }
  return true;
}

/**
 * Brings what is known of the worker in line with what it says it holds. What was sent and did not arrive is handed
 * back; what it holds and nobody knew of here is adopted.
 */
export function reconcile(session: Session, holds: readonly ReportedHold[], shared: Surroundings): void {
  returnUndelivered(session, new Set(holds.map(keyOf)));
  for (const hold of holds) {
    const { token, startedAt, finished } = hold;
    const known = session.held.get(token.executionId, token.attempt);
    if (known === null) {
      session.held.add(token, startedAt === null ? "ASSIGNED" : "STARTED", startedAt);
      const held = session.held.get(token.executionId, token.attempt);
      if (finished && held !== null) session.finish(held);
    } else if (finished) {
      session.finish(known);
    } else if (startedAt !== null && known.state === "ASSIGNED") {
      session.held.advance(known, "STARTED");
      known.startedAt = startedAt;
      const { workerId } = session.profile;
      shared.news.started(shared.owners.of(known.token.shard), { ...known.token, workerId, startedAt });
    }
  }
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
