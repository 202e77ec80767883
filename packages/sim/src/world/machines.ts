import type { Role } from "@mainspring/server/testing";
import type { SeededRandom } from "@mainspring/testkit/time";
import { hasRequests } from "./applications.ts";
import { wantsLeader } from "./sim-leases.ts";
import type { ServerContext, SimServer } from "./sim-server.ts";
import { hasEvents, tellsWorkers } from "./workflow-kinds.ts";

/**
 * One in this number of seeds reads a few rows at a time, so that a few rows that are due are a herd, which is read by turns of flows. Other
 * seeds stay unchanged.
 */
const SMALL_READS_EVERY = 8;
const SMALL_READS = { waiting: 1, waitingTurn: 20, plans: 1, plansTurn: 20 } as const;

/** A host on which a server runs, or will run again. */
export interface Machine {
  readonly name: string;
  readonly roles: readonly Role[];
  server: SimServer | null;
  lives: number;
}

/** Machines of a simulation, sometimes with an additional server that is only a gateway. */
export function machinesOf(nodes: number, random: SeededRandom): Machine[] {
  const all = ["api", "scheduler", "gateway"] as const;
  const machines: Machine[] = Array.from({ length: nodes }, (_, i) => ({
    name: `server-${i + 1}`,
    roles: all,
    server: null,
    lives: 0,
  }));
  if (nodes > 1 && random.chance(0.3)) machines.push({ name: "gateway-1", roles: ["gateway"], server: null, lives: 0 });
  return machines;
}

type Traits = Pick<ServerContext, "events" | "tellsWorkers" | "takesRequests" | "wantsLeader" | "readSizes">;

/** Properties that the seed gives to all servers of a simulation. */
export function serverTraits(seed: number): Traits {
  return {
    events: () => hasEvents(seed),
    tellsWorkers: tellsWorkers(seed),
    takesRequests: hasRequests(seed),
    wantsLeader: wantsLeader(seed),
    readSizes: seed % SMALL_READS_EVERY === 5 ? SMALL_READS : undefined,
  };
}
