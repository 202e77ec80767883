import type { WorkerId } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import type { ToGateway, WorkerStatus } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { Inbox } from "../inbox.ts";

const ANSWER_TIMEOUT_MS = 500;

/**
 * Lists the workers that the gateways know, the newest connection first. If two gateways know a worker, the newer
 * connection counts.
 */
export async function listWorkers(bus: Bus, inbox: Inbox, runtime: Runtime): Promise<WorkerStatus[]> {
  const found = await askGateways(bus, inbox, runtime, (request) => ({ kind: "LIST_WORKERS", request }));
  const workers = new Map<string, WorkerStatus>();
  for (const worker of found.sort((a, b) => a.connectedAt - b.connectedAt)) workers.set(worker.workerId, worker);
  return [...workers.values()].sort((a, b) => b.connectedAt - a.connectedAt || (a.workerId < b.workerId ? -1 : 1));
}

/** Finds one worker with the attempts that it holds. @returns the worker; null: no gateway knows it */
export async function findWorker(
  { bus, inbox, runtime }: { bus: Bus; inbox: Inbox; runtime: Runtime },
  workerId: WorkerId,
): Promise<WorkerStatus | null> {
  const found = await askGateways(bus, inbox, runtime, (request) => ({ kind: "LIST_WORKERS", request, workerId }));
  // A gateway of an older release answers with all of its workers.
  const named = found.filter((worker) => worker.workerId === workerId);
  return named.sort((a, b) => b.connectedAt - a.connectedAt)[0] ?? null;
}

/**
 * Drains a worker: the worker takes no more work and ends when the rest is finished. @returns the worker after the
 * request; null: no gateway knows it
 */
export async function drainWorker(
  { bus, inbox, runtime }: { bus: Bus; inbox: Inbox; runtime: Runtime },
  workerId: WorkerId,
): Promise<WorkerStatus | null> {
  const found = await askGateways(bus, inbox, runtime, (request) => ({ kind: "DRAIN_WORKER", request, workerId }));
  return found.sort((a, b) => b.connectedAt - a.connectedAt)[0] ?? null;
}

async function askGateways(
  bus: Bus,
  inbox: Inbox,
  runtime: Runtime,
  question: (request: string) => ToGateway,
): Promise<WorkerStatus[]> {
  const gateways = bus.nodes("gateway");
  const request = runtime.uuid();
  const answered = inbox.collect(request, gateways.length, ANSWER_TIMEOUT_MS);
  for (const node of gateways) bus.send({ node, role: "gateway" }, question(request));
  return (await answered).flatMap((answer) => (answer.kind === "WORKERS" ? answer.workers : []));
}
