import type { Incarnation } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import { Mailboxes } from "../../ports/mailboxes.ts";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";

/**
 * The bus of a server that is alone: its roles talk within one process. Delivers in order, once, unless nobody listens.
 * @param runtime gives long messages a turn of the event loop of their own; left out: they have none
 */
export function memoryBus(node: Incarnation, runtime?: Pick<Runtime, "defer" | "setTimer">): Bus {
  const mailboxes = new Mailboxes(runtime && ((run) => atEndOfTurn(runtime, run)));
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
