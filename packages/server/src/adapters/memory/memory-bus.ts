import type { Incarnation } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import { Mailboxes } from "../../ports/mailboxes.ts";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";

/**
 * Bus of a server without other nodes: its roles communicate within one process. The bus delivers in order and once,
 * unless no role listens.
 * @param runtime gives each long message a turn of the event loop of its own; absent: long messages get none
 */
export function memoryBus(node: Incarnation, runtime?: Pick<Runtime, "defer" | "setTimer">): Bus {
  const mailboxes = new Mailboxes(runtime && ((run) => atEndOfTurn(runtime, run)));
  return {
    node,
    ownerOf: mailboxes.ownerOf,
    nodes: (role) => (mailboxes.hasListener(role) ? [node] : []),
    connected: () => [node],
    send: (to, message) => {
      // A message to a node that no longer lives is lost, as on a network.
      if (to.node === node) mailboxes.put(node, to.role, message);
    },
    listen: mailboxes.listen,
  };
}
