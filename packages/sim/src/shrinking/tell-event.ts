import type { Moment } from "../history.ts";

type Of<K extends Moment["kind"]> = Extract<Moment, { kind: K }>;
type Words = { [K in Moment["kind"]]?: (moment: Of<K>) => string };

const FAULTS: Record<string, string> = {
  SERVER_KILLED: "is killed",
  WORKER_KILLED: "is killed",
  SERVER_PAUSED: "is held up",
  WORKER_PAUSED: "is held up",
  STORE_DOWN: "is not to be reached",
  CONNECTION_BROKEN: "loses its connection",
  CLOCK_SKEWED: "has a wrong clock from now on",
};

/** Moments of executions, where one of the story is concerned. */
const OF_EXECUTIONS: Words = {
  ACCEPTED: ({ executionId, key }) => `a client is told that ${executionId} is accepted, for its ${key}`,
  CANCEL_ASKED: ({ executionId }) => `a client asks for ${executionId} to be cancelled`,
  ASSIGN_ARRIVED: (m) => `${m.server} is to send attempt ${m.attempt} of ${m.executionId} to ${m.worker}`,
  ASSIGN_SENT: (m) => `${m.server} sends attempt ${m.attempt} of ${m.executionId} to ${m.worker}`,
  DELIVERED: (m) => `${m.worker} gets attempt ${m.attempt} of ${m.executionId}`,
  HANDLER_STARTED: (m) => `${m.worker} begins attempt ${m.attempt} of ${m.executionId}`,
  HANDLER_ENDED: (m) => `${m.worker} ends attempt ${m.attempt} of ${m.executionId}: ${m.as}`,
  REPORTED: (m) => `${m.worker} reports attempt ${m.attempt} of ${m.executionId}`,
  ACKED: (m) => `${m.worker} hears that its attempt ${m.attempt} of ${m.executionId} is written down`,
  REFUSED: (m) => `${m.worker} hears that its attempt ${m.attempt} of ${m.executionId} is refused`,
};

/** Moments of workers, where one of the story is concerned. */
const OF_WORKERS: Words = {
  WORKER_BORN: ({ worker, slots, prefetch }) => `${worker} starts, with ${slots} slots and ${prefetch} more`,
  GREETED: ({ worker, server, holds }) => `${worker} has connected to ${server} and holds ${holds.length}`,
  PARTED: ({ worker, server }) => `the connection of ${worker} to ${server} ends`,
  DECLARED_LOST: ({ worker, server, reason }) => `${server} declares ${worker} lost: ${reason}`,
  LENT: ({ worker, server, granted, owner }) => `${server} lends of ${worker} ${granted} in all to ${owner}`,
};

/** Moments that concern every process. */
const OF_ALL: Words = {
  FAULT: ({ fault, on, forMs }) => `*** ${on} ${FAULTS[fault] ?? fault}${forMs ? ` for ${forMs / 1_000} s` : ""}`,
  STORE_FAULT: ({ fault, operation }) => `*** a ${operation} meets trouble in the store: ${fault}`,
  CALM: () => "*** faults end here",
  ERROR_LOGGED: ({ server, message }) => `${server} logs an error: ${message}`,
};

/** In words; null: it is not of this story. */
export function tellMoment(
  moment: Moment,
  executions: ReadonlySet<string>,
  workers: ReadonlySet<string>,
): string | null {
  const words = wordsFor(moment, executions, workers)[moment.kind] as ((moment: Moment) => string) | undefined;
  return words === undefined ? null : words(moment);
}

function wordsFor(moment: Moment, executions: ReadonlySet<string>, workers: ReadonlySet<string>): Words {
  if ("executionId" in moment) return executions.has(moment.executionId ?? "") ? OF_EXECUTIONS : {};
  if ("worker" in moment) return workers.has(moment.worker) ? OF_WORKERS : {};
  return OF_ALL;
}
