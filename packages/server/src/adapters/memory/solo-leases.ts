import type { Leases } from "../../ports/leases.ts";

/** The leases of a server that is alone with its store: it lives, and nobody else does. */
export function soloLeases(): Leases {
  return {
    renew: async (node) => [{ ...node, renewedAgoMs: 0 }],
    release: async () => undefined,
  };
}
