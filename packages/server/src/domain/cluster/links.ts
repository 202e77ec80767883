import type { Incarnation } from "../ids.ts";

/**
 * Time in ms for which a link must be down before it counts as broken, because a reconnect must not concern the owners.
 */
export const BREAK_AFTER_MS = 2_000;
/** Time in ms for which a repaired link must be up before it counts again. The time doubles with each further break. */
export const HEAL_AFTER_MS = 5_000;
export const HEAL_AFTER_MAX_MS = 120_000;
/**
 * Time in ms after which earlier breaks of an intact link do not count any more, and after which a link that was not
 * observed is forgotten.
 */
export const FORGIVE_AFTER_MS = 600_000;

/** Observation of another node at one moment. */
export interface LinkObservation {
  incarnation: Incarnation;
  /** Whether this node has a connection to the other node. */
  isConnected: boolean;
  /**
   * Whether the other node renews its lease. If not, it may just have died, and a broken connection says nothing about
   * the link.
   */
  isFresh: boolean;
}

interface Link {
  isConnected: boolean;
  /** Time since which `isConnected` has its value, on the monotonic clock. */
  sinceMs: number;
  /** Time of the last observation, on the monotonic clock. */
  seenMs: number;
  counts: boolean;
  breaks: number;
}

/**
 * Tells which links of a node count. The answer changes slowly, because each change moves shards. A link that breaks
 * repeatedly takes ever longer to count again, which bounds the takeovers that it causes.
 */
export class Links {
  readonly #links = new Map<Incarnation, Link>();

  /** @param nowMs time on the monotonic clock @param living all other living nodes @returns nodes whose links count */
  look(nowMs: number, living: readonly LinkObservation[]): Incarnation[] {
    for (const [node, { seenMs }] of this.#links) if (nowMs - seenMs >= FORGIVE_AFTER_MS) this.#links.delete(node);
    return living.filter((observation) => this.#judge(nowMs, observation)).map(({ incarnation }) => incarnation);
  }

  #judge(nowMs: number, { incarnation, isConnected, isFresh }: LinkObservation): boolean {
    const met = { isConnected, sinceMs: nowMs, seenMs: nowMs, counts: isConnected, breaks: 0 };
    const link = this.#links.get(incarnation) ?? met;
    this.#links.set(incarnation, link);
    // After an outage of the store, links count as before: their connections get time to be restored.
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

/** Time in ms before a link counts. The link to a new node counts as soon as it is connected. */
function healAfterMs(breaks: number): number {
  return breaks === 0 ? 0 : Math.min(HEAL_AFTER_MAX_MS, HEAL_AFTER_MS * 2 ** (breaks - 1));
}
