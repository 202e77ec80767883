import type { ExecutionId } from "../domain/ids.ts";
import type { Held } from "./sessions/held.ts";
import type { Session } from "./sessions/session.ts";

/**
 * Grace that a worker of another language hears with such a cancellation, in ms. The owner of the execution, who knows the grace of
 * the job, says it anew when the store is back.
 */
const GRACE_MS = 30_000;

/** Tells workers to stop attempts that clients cancelled while the store did not answer. */
export class AskedCancels {
  /** Number of the connection over which the worker of an attempt was told. */
  readonly #told = new WeakMap<Held, number>();

  /**
   * Tells the worker of each attempt of these executions once a connection.
   * @returns sessions whose workers are to be told
   */
  tell(sessions: Iterable<Session>, executionIds: ReadonlySet<ExecutionId>): Session[] {
    const changed: Session[] = [];
    for (const session of sessions) {
      if (session.link === null) continue;
      for (const held of session.held) {
        if (!executionIds.has(held.token.executionId) || this.#told.get(held) === session.connection) continue;
        this.#told.set(held, session.connection);
        session.cancel(held.token, "REQUESTED", GRACE_MS);
        changed.push(session);
      }
    }
    return changed;
  }
}
