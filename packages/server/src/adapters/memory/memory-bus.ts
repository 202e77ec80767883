import type { Incarnation } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import { Mailboxes } from "../../ports/mailboxes.ts";

/** The bus of a server that is alone: its roles talk within one process. Delivers in order, once, unless nobody listens. */
export function memoryBus(node: Incarnation): Bus {
  const mailboxes = new Mailboxes();
  return {
    node,
    ownerOf: mailboxes.ownerOf,
    nodes: (role) => (mailboxes.hasListener(role) ? [node] : []),
    connected: () => [node],
    send: (to, message) => {
      // A message to a node that is no more is lost, as on a network.
      if (to.node === node) mailboxes.put(node, to.role, message);
    },
    listen: mailboxes.listen,
  };
}
