import type { SimEvent } from "../history.ts";

type Of<K extends SimEvent["kind"]> = Extract<SimEvent, { kind: K }>;
type Words = { [K in SimEvent["kind"]]?: (event: Of<K>) => string };

const FAULTS: Record<string, string> = {
  SERVER_KILLED: "is killed",
  WORKER_KILLED: "is killed",
  SERVER_PAUSED: "is held up",
  WORKER_PAUSED: "is held up",
  STORE_DOWN: "is not to be reached",
  CONNECTION_BROKEN: "loses its connection",
  CLOCK_SKEWED: "has a wrong clock from now on",
};

/** Events of executions, told if the execution is part of the story. */
const OF_EXECUTIONS: Words = {
  ACCEPTED: ({ executionId, key }) => `a client is told that ${executionId} is accepted, for its ${key}`,
  CANCEL_ASKED: ({ executionId }) => `a client asks for ${executionId} to be cancelled`,
  CANCEL_KEPT: ({ executionId }) => `a client is told that its cancellation of ${executionId} is kept beside the store`,
  ASSIGN_ARRIVED: (m) => `${m.server} is to send attempt ${m.attempt} of ${m.executionId} to ${m.worker}`,
  ASSIGN_SENT: (m) => `${m.server} sends attempt ${m.attempt} of ${m.executionId} to ${m.worker}`,
  DELIVERED: (m) => `${m.worker} gets attempt ${m.attempt} of ${m.executionId}`,
  HANDLER_STARTED: (m) => `${m.worker} begins attempt ${m.attempt} of ${m.executionId}`,
  HANDLER_ENDED: (m) => `${m.worker} ends attempt ${m.attempt} of ${m.executionId}: ${m.as}`,
  REPORTED: (m) => `${m.worker} reports attempt ${m.attempt} of ${m.executionId}`,
  ACKED: (m) => `${m.worker} hears that its attempt ${m.attempt} of ${m.executionId} is written down`,
  REFUSED: (m) => `${m.worker} hears that its attempt ${m.attempt} of ${m.executionId} is refused`,
};

/** Events of workers, told if the worker is part of the story. */
const OF_WORKERS: Words = {
  WORKER_BORN: ({ worker, slots, prefetch }) => `${worker} starts, with ${slots} slots and ${prefetch} more`,
  GREETED: ({ worker, server, holds }) => `${worker} has connected to ${server} and holds ${holds.length}`,
  PARTED: ({ worker, server }) => `the connection of ${worker} to ${server} ends`,
  DECLARED_LOST: ({ worker, server, reason }) => `${server} declares ${worker} lost: ${reason}`,
  LENT: ({ worker, server, granted, owner }) => `${server} lends of ${worker} ${granted} in all to ${owner}`,
};

/** Events that concern every process. */
const OF_ALL: Words = {
  FAULT: ({ fault, on, forMs }) => `*** ${on} ${FAULTS[fault] ?? fault}${forMs ? ` for ${forMs / 1_000} s` : ""}`,
  STORE_FAULT: ({ fault, operation }) => `*** a ${operation} meets trouble in the store: ${fault}`,
  INDEX_LOST: ({ what }) => `*** the index beside the store loses ${what}`,
  CALM: () => "*** faults end here",
  ERROR_LOGGED: ({ server, message }) => `${server} logs an error: ${message}`,
};

/** The event in words; null: it is not part of this story. */
export function tellEvent(
  event: SimEvent,
  executions: ReadonlySet<string>,
  workers: ReadonlySet<string>,
): string | null {
  const words = wordsFor(event, executions, workers)[event.kind] as ((event: SimEvent) => string) | undefined;
  return words === undefined ? null : words(event);
}

function wordsFor(event: SimEvent, executions: ReadonlySet<string>, workers: ReadonlySet<string>): Words {
  if ("executionId" in event) return executions.has(event.executionId ?? "") ? OF_EXECUTIONS : {};
  if ("worker" in event) return workers.has(event.worker) ? OF_WORKERS : {};
  return OF_ALL;
}
