import type { Leases, NodeLease } from "../../ports/leases.ts";

/** The leases of a server that is alone with its store: it lives, and nobody else does, who could take its work. */
export function soloLeases(): Leases {
  let me: NodeLease | null = null;
  return {
    renew: async ({ incarnation, name, address, roles, version, level, startedAt, reaches = null }) => {
      const said = { incarnation, name, address, roles, version, level, startedAt, reaches };
      me = { ...said, renewedAgoMs: 0, draining: false };
      return [me];
    },
    release: async () => undefined,
    list: async () => (me === null ? [] : [{ ...me, isLiving: true }]),
    drain: async () => false,
  };
}
