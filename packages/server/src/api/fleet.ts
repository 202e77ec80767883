import type { Bus } from "../ports/bus.ts";
import type { WorkerStatus } from "../ports/messages.ts";
import type { Runtime } from "../ports/runtime.ts";
import type { Inbox } from "./inbox.ts";

const LIST_TIMEOUT_MS = 500;

/** The workers that the gateways know, newest connection first; of one that two know, the newer connection. */
export async function listWorkers(bus: Bus, inbox: Inbox, runtime: Runtime): Promise<WorkerStatus[]> {
  const gateways = bus.nodes("gateway");
  const request = runtime.uuid();
  const answered = inbox.collect(request, gateways.length, LIST_TIMEOUT_MS);
  for (const node of gateways) bus.send({ node, role: "gateway" }, { kind: "LIST_WORKERS", request });
  const found = (await answered).flatMap((answer) => (answer.kind === "WORKERS" ? answer.workers : []));
  const workers = new Map<string, WorkerStatus>();
  for (const worker of found.sort((a, b) => a.connectedAt - b.connectedAt)) workers.set(worker.workerId, worker);
  return [...workers.values()].sort((a, b) => b.connectedAt - a.connectedAt || (a.workerId < b.workerId ? -1 : 1));
}
