import type { Leases, NodeLease } from "../../ports/leases.ts";

/** Leases of a server that has its store to itself: this server lives, and no other node could take its work. */
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
