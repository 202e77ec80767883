import type { WorkerId } from "../../domain/ids.ts";
import { SEND_AWAY_SHARE, SENT_AWAY_AGAIN_MS } from "../limits.ts";
import type { Session } from "./session.ts";

/**
 * Selects the workers that a draining gateway sends to other gateways, a few at a time, so that they do not all arrive
 * there at once. A worker that comes back and holds attempts knows no other gateway. It stays until its attempts are
 * done, because a second move could cost it its attempts.
 */
export class DrainController {
  readonly #told = new Set<WorkerId>();

  /** The next workers to send away now. */
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
