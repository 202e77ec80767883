import type { Bus } from "../../ports/bus.ts";
import type { PoolUse } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Inbox } from "../inbox.ts";

const ASK_TIMEOUT_MS = 500;

/** Use of the limits of pools, as their coordinators report it, without coordinators that do not answer in time. */
export async function askPoolUses(deps: { bus: Bus; runtime: Runtime; inbox: Inbox }): Promise<PoolUse[]> {
  const { bus, runtime, inbox } = deps;
  const request = runtime.uuid();
  const nodes = bus.nodes("scheduler");
  const answered = inbox.collect(request, nodes.length, ASK_TIMEOUT_MS);
  for (const node of nodes) bus.send({ node, role: "scheduler" }, { kind: "ASK_POOLS", request });
  return (await answered).flatMap((answer) => (answer.kind === "POOLS_USED" ? answer.pools : []));
}
