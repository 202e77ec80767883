import type { Incarnation, WorkerId } from "../ids.ts";

/** Age in ms of the last word of a gateway from which on its workers count as DEAD for people. */
export const REGISTERED_FRESH_MS = 30_000;

interface Listed {
  workerId: WorkerId;
  state: "ALIVE" | "DISCONNECTED" | "DRAINING" | "DEAD";
  running: number;
  free?: number;
  stuck?: number;
  connectedAt: number;
}

interface Entry<Worker> {
  gateway: Incarnation;
  /** Milliseconds since the gateway has written the entry. */
  ageMs: number;
  workers: readonly Worker[];
}

/**
 * Workers for people, the newest connection first: those that gateways told of just now, and those of the registry whose gateway did not
 * answer. A connected worker that a gateway told of counts whatever the registry has; otherwise the newest connection does.
 */
export function withRegistered<Worker extends Listed>(
  told: readonly Worker[],
  entries: readonly Entry<Worker>[],
): Worker[] {
  const registered = entries.flatMap(({ ageMs, workers }) => workers.map((worker) => withoutGateway(worker, ageMs)));
  const known = new Map<WorkerId, Worker>();
  for (const worker of [...registered, ...told].sort((a, b) => a.connectedAt - b.connectedAt))
    known.set(worker.workerId, worker);
  for (const worker of told) if (isConnected(worker)) known.set(worker.workerId, worker);
  return [...known.values()].sort((a, b) => b.connectedAt - a.connectedAt || (a.workerId < b.workerId ? -1 : 1));
}

function isConnected({ state }: Listed): boolean {
  return state === "ALIVE" || state === "DRAINING";
}

/** A worker of a gateway that says nothing: DISCONNECTED at first, then DEAD. */
function withoutGateway<Worker extends Listed>(worker: Worker, ageMs: number): Worker {
  if (worker.state !== "DEAD" && ageMs < REGISTERED_FRESH_MS) return { ...worker, state: "DISCONNECTED" };
  return { ...worker, state: "DEAD", running: 0, free: 0, stuck: 0 };
}
