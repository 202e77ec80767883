import type { Incarnation } from "../ids.ts";

/** How long a link has to be down before it counts as broken: a connection that is only renewed is none of the owners' business. */
export const BREAK_AFTER_MS = 2_000;
/** How long a link that was broken has to stand before it counts again; doubled for each further time. */
export const HEAL_AFTER_MS = 5_000;
export const HEAL_AFTER_MAX_MS = 120_000;
/** A link that has stood for so long is as good as one that never broke; one that was not asked for as long is forgotten. */
export const FORGIVE_AFTER_MS = 600_000;

/** Another node, as it was found at one moment. */
export interface Sighting {
  incarnation: Incarnation;
  /** Whether there is a connection to it now. */
  isConnected: boolean;
  /** Whether it renews its lease: of a node that may just have died nothing can be said about the link. */
  isFresh: boolean;
}

interface Link {
  isConnected: boolean;
  /** Since when it is so. */
  sinceMs: number;
  /** When it was looked at last. */
  seenMs: number;
  counts: boolean;
  breaks: number;
}

/**
 * Which links of a node count: shards move when that changes, so it changes slowly. A link that breaks again and again
 * counts ever later, so that takeovers because of it are bounded.
 */
export class Links {
  readonly #links = new Map<Incarnation, Link>();

  /**
   * @param nowMs monotonic
   * @param living the other nodes that live, all of them
   * @returns those whose links count
   */
  look(nowMs: number, living: readonly Sighting[]): Incarnation[] {
    for (const [node, { seenMs }] of this.#links) if (nowMs - seenMs >= FORGIVE_AFTER_MS) this.#links.delete(node);
    return living.filter((sighting) => this.#judge(nowMs, sighting)).map(({ incarnation }) => incarnation);
  }

  #judge(nowMs: number, { incarnation, isConnected, isFresh }: Sighting): boolean {
    const met = { isConnected, sinceMs: nowMs, seenMs: nowMs, counts: isConnected, breaks: 0 };
    const link = this.#links.get(incarnation) ?? met;
    this.#links.set(incarnation, link);
    // After an outage of the store the nodes come back as they were: their connections are given time to be there again.
    const wasAway = nowMs - link.seenMs >= BREAK_AFTER_MS;
    if (wasAway || link.isConnected !== isConnected) Object.assign(link, { isConnected, sinceMs: nowMs });
    link.seenMs = nowMs;
    const forMs = nowMs - link.sinceMs;
    if (link.counts && !isConnected && isFresh && forMs >= BREAK_AFTER_MS) {
      link.counts = false;
      link.breaks++;
    } else if (!link.counts && isConnected) link.counts = forMs >= healAfterMs(link.breaks);
    if (link.counts && isConnected && forMs >= FORGIVE_AFTER_MS) link.breaks = 0;
    return link.counts;
  }
}

/** A node that was never connected counts as soon as it is. */
function healAfterMs(breaks: number): number {
  return breaks === 0 ? 0 : Math.min(HEAL_AFTER_MAX_MS, HEAL_AFTER_MS * 2 ** (breaks - 1));
}
