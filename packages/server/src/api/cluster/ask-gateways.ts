import { withRegistered } from "../../domain/cluster/registered-workers.ts";
import type { Incarnation, WorkerId } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import type { ToGateway, WorkerStatus } from "../../ports/messages.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { IndexUnavailable, type RegistryEntry, type WorkerRegistry } from "../../ports/side-index.ts";
import type { Inbox } from "../inbox.ts";

const ANSWER_TIMEOUT_MS = 500;

interface Asking {
  bus: Bus;
  inbox: Inbox;
  runtime: Runtime;
  /** Registry of workers; null or left out: there is none. */
  registry?: WorkerRegistry | null;
}

/**
 * Lists the workers that the gateways know, the newest connection first, and workers in the registry whose gateway does not answer. If two
 * gateways know a worker, the newer connection counts.
 */
export async function listWorkers(asking: Asking): Promise<WorkerStatus[]> {
  const answers = await askGateways(asking, (request) => ({ kind: "LIST_WORKERS", request }));
  return withRegistered([...answers.values()].flat(), await registered(asking, answers));
}

/** Finds one worker with the attempts that it holds. @returns the worker; null: neither a gateway nor the registry knows it */
export async function findWorker(asking: Asking, workerId: WorkerId): Promise<WorkerStatus | null> {
  const answers = await askGateways(asking, (request) => ({ kind: "LIST_WORKERS", request, workerId }));
  // A gateway of an older release answers with all of its workers.
  const isWanted = (worker: WorkerStatus) => worker.workerId === workerId;
  const told = [...answers.values()].flat().filter(isWanted);
  const entries = (await registered(asking, answers)).map((entry) => ({
    ...entry,
    workers: entry.workers.filter(isWanted),
  }));
  return withRegistered(told, entries)[0] ?? null;
}

/** Entries of the registry whose gateways did not answer; none while the registry is away. */
async function registered(
  { registry = null }: Asking,
  answers: ReadonlyMap<Incarnation, unknown>,
): Promise<RegistryEntry[]> {
  try {
    return registry === null ? [] : await registry.read(new Set(answers.keys()));
  } catch (error) {
    if (error instanceof IndexUnavailable) return [];
    throw error;
  }
}

/**
 * Drains a worker: the worker takes no more work and ends when the rest is finished. @returns the worker after the
 * request; null: no gateway knows it
 */
export async function drainWorker(asking: Asking, workerId: WorkerId): Promise<WorkerStatus | null> {
  const answers = await askGateways(asking, (request) => ({ kind: "DRAIN_WORKER", request, workerId }));
  return [...answers.values()].flat().sort((a, b) => b.connectedAt - a.connectedAt)[0] ?? null;
}

/** @returns workers by the gateways that answered */
async function askGateways(
  { bus, inbox, runtime }: Asking,
  question: (request: string) => ToGateway,
): Promise<ReadonlyMap<Incarnation, readonly WorkerStatus[]>> {
  const gateways = bus.nodes("gateway");
  const request = runtime.uuid();
  const answered = inbox.collectBySender(request, gateways.length, ANSWER_TIMEOUT_MS);
  for (const node of gateways) bus.send({ node, role: "gateway" }, question(request));
  return new Map(
    [...(await answered)].map(([node, answer]) => [node, answer.kind === "WORKERS" ? answer.workers : []]),
  );
}
