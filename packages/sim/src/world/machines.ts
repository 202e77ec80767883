import type { Role } from "@mainspring/server/testing";
import type { Dice } from "../dice.ts";
import type { SimServer } from "./sim-server.ts";

/** A host: a server runs on it, or will again. */
export interface Machine {
  readonly name: string;
  readonly roles: readonly Role[];
  server: SimServer | null;
  lives: number;
}

/** Sometimes there is a gateway apart beside them. */
export function machinesOf(nodes: number, dice: Dice): Machine[] {
  const all = ["api", "scheduler", "gateway"] as const;
  const machines: Machine[] = Array.from({ length: nodes }, (_, i) => ({
    name: `server-${i + 1}`,
    roles: all,
    server: null,
    lives: 0,
  }));
  if (nodes > 1 && dice.chance(0.3)) machines.push({ name: "gateway-1", roles: ["gateway"], server: null, lives: 0 });
  return machines;
}
