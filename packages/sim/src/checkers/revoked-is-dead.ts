import { type Checker, Violation } from "./checker.ts";

/** Time in which a revocation reaches every server that can reach the store, in simulated milliseconds. */
const DEAD_WITHIN_MS = 2_000;
/** Time after a fault until servers reach the store again, in simulated milliseconds. */
const SETTLED_AFTER_MS = 3_000;

/** Keys of the store, and their uses. */
export interface KeysView {
  /** Whether the store says that the key is no longer good. */
  isDead(key: string): boolean;
  /** Uses that last, at servers that run and are not cut off from the store. */
  held(): { key: string; server: string }[];
}

/**
 * A key that was revoked, or has expired by the store's clock, is refused within two seconds by every server that can reach the store,
 * and its uses that last have ended by then. A good key is refused by no such server, however new it is.
 * @param keys null: the servers of the world have no keys
 */
export function revokedIsDead(keys: KeysView | null): Checker {
  /** First time at which a key was seen dead, in simulated milliseconds. */
  const dead = new Map<string, number>();
  let hinderedUntilMs = 0;
  const isDue = (key: string, nowMs: number) => {
    if (keys?.isDead(key) !== true) return false;
    const sinceMs = dead.get(key) ?? nowMs;
    dead.set(key, sinceMs);
    return nowMs - Math.max(sinceMs, hinderedUntilMs + SETTLED_AFTER_MS) > DEAD_WITHIN_MS;
  };
  return {
    name: "revoked is dead",
    noticed(event) {
      if (keys === null) return;
      if (event.kind === "FAULT") hinderedUntilMs = Math.max(hinderedUntilMs, event.atMs + (event.forMs ?? 0));
      if (event.kind === "STORE_FAULT") hinderedUntilMs = Math.max(hinderedUntilMs, event.atMs);
      if (event.kind !== "KEY_JUDGED") return;
      const { key, server, said, isGood, isCutOff, askedAtMs, atMs } = event;
      if (isDue(key, atMs) && said === "GOOD" && !isCutOff)
        throw new Violation(`${server} takes the key ${key}, which is dead`);
      const isHindered = askedAtMs < hinderedUntilMs + SETTLED_AFTER_MS;
      if (said === "UNAUTHENTICATED" && isGood && !isHindered)
        throw new Violation(`${server} refuses the key ${key}, which is good`);
      for (const held of keys.held()) {
        if (isDue(held.key, atMs))
          throw new Violation(`a use of the key ${held.key}, which is dead, goes on at ${held.server}`);
      }
    },
  };
}
