import type { Role } from "@mainspring/server/testing";
import type { SeededRandom } from "@mainspring/testkit/time";
import type { SimServer } from "./sim-server.ts";

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
