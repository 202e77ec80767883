import type { WorkerId } from "../../domain/ids.ts";
import { SEND_AWAY_SHARE, SENT_AWAY_AGAIN_MS } from "../limits.ts";
import type { Session } from "./session.ts";

/**
 * Sends the workers of a draining gateway to other gateways, a few at a time, so that they do not all arrive there at
 * once. A worker that holds attempts and comes back knows no other gateway, and stays until it is done: a second
 * parting could cost it its attempts.
 */
export class Farewell {
  readonly #told = new Set<WorkerId>();

  /** The next ones, each to be sent away now. */
  next(sessions: Iterable<Session>, nowMs: number): Session[] {
    const here = [...sessions].filter((session) => session.link !== null && !session.isDraining);
    const due = here
      .filter((session) => this.#isDue(session, nowMs))
      .slice(0, Math.ceil(here.length / SEND_AWAY_SHARE));
    for (const { profile } of due) this.#told.add(profile.workerId);
    return due;
  }

  #isDue({ profile, held, link }: Session, nowMs: number): boolean {
    if (!this.#told.has(profile.workerId)) return true;
    return held.size === 0 && nowMs - (link?.openedAtMs ?? nowMs) >= SENT_AWAY_AGAIN_MS;
  }
}
