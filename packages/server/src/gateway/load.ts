import type { Session } from "./sessions/session.ts";

/** Present load of a gateway's workers, for metrics. */
export interface GatewayLoad {
  /**
   * Slots of handlers that still run after the end of their attempts, by pool. Pools without such slots are left out.
   */
  stuckSlots: ReadonlyMap<string, number>;
  /** Slots of the connected workers, by pool. */
  slots: ReadonlyMap<string, number>;
  /**
   * Number of connected workers of the release before, which do not answer questions about the attempts that they hold.
   */
  workersWithoutAuthority: number;
}

export function loadOf(sessions: Iterable<Pick<Session, "profile" | "held" | "isAuthority" | "link">>): GatewayLoad {
  const stuckSlots = new Map<string, number>();
  const slots = new Map<string, number>();
  let workersWithoutAuthority = 0;
  for (const { profile, held, isAuthority, link } of sessions) {
    const { stuck } = held;
    if (link !== null) slots.set(profile.pool, (slots.get(profile.pool) ?? 0) + profile.slots);
    if (stuck > 0) stuckSlots.set(profile.pool, (stuckSlots.get(profile.pool) ?? 0) + stuck);
    if (link !== null && !isAuthority) workersWithoutAuthority++;
  }
  return { stuckSlots, slots, workersWithoutAuthority };
}
