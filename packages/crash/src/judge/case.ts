import type { AttemptRecord } from "@mainspring/sdk";
import type { ClientEvent, WorkerEvent } from "../history/events.ts";
import type { Evidence, FinalExecution } from "./evidence.ts";

type Of<E extends { event: string }, Name extends E["event"]> = Extract<E, { event: Name }>;
type Started = Of<WorkerEvent, "STARTED">;

/** A handler that ran, as its worker wrote it down. Times are of the monotonic clock. */
export interface Run extends Omit<Started, "event" | "at"> {
  startedAt: number;
  /** When the handler ended, or its process was killed; infinite: neither. */
  endedAt: number;
  /** SHA-256 of the returned value; null: the handler threw, or never ended. */
  resultSha: string | null;
  /** How the server says that the attempt ended; null: it does not know of it. */
  record: AttemptRecord | null;
  /** Until then nobody else may run the execution: its end, or what the server declared to be its end, if earlier. */
  currentUntil: number;
}

/** A job that a client asked for, and all that it was told. */
export interface Ordered {
  intended: Of<ClientEvent, "INTENDED">;
  answers: Of<ClientEvent, "ANSWERED">[];
  refusals: Of<ClientEvent, "REFUSED">[];
}

/** The evidence, put in order. */
export interface Case {
  evidence: Evidence;
  executions: ReadonlyMap<string, FinalExecution>;
  /** Runs of each execution, in the order of their starts. */
  runs: ReadonlyMap<string, readonly Run[]>;
  /** Without those that a worker began only after they had been declared to be over. */
  currentRuns: ReadonlyMap<string, readonly Run[]>;
  /** Keyed by the job's key. */
  orders: ReadonlyMap<string, Ordered>;
}

export function openCase(evidence: Evidence): Case {
  const executions = new Map(evidence.executions.map((execution) => [execution.executionId, execution]));
  const runs = allRuns(evidence, executions).sort((a, b) => a.startedAt - b.startedAt);
  return {
    evidence,
    executions,
    runs: byExecution(runs),
    currentRuns: byExecution(runs.filter(({ startedAt, currentUntil }) => startedAt < currentUntil)),
    orders: allOrders(evidence.clients),
  };
}

function byExecution(runs: readonly Run[]): Map<string, Run[]> {
  return Map.groupBy(runs, ({ executionId }) => executionId);
}

/** The order that created the execution; null: no order did. */
export function orderOf(of: Case, { key }: FinalExecution): Ordered | null {
  return (key !== null && of.orders.get(key)) || null;
}

function allRuns(evidence: Evidence, executions: Case["executions"]): Run[] {
  const ends = new Map<string, Of<WorkerEvent, "ENDED">>();
  for (const event of evidence.workers) if (event.event === "ENDED") ends.set(runName(event), event);
  const deaths = new Map(
    evidence.faults.flatMap(({ event, pid, at }) => (event === "WORKER_KILLED" ? [[pid, at]] : [])),
  );
  return evidence.workers.flatMap((event) => {
    if (event.event !== "STARTED") return [];
    const { pid, executionId, attempt, key, at: startedAt } = event;
    const end = ends.get(runName(event));
    const endedAt = end?.at ?? deaths.get(pid) ?? Number.POSITIVE_INFINITY;
    const record = executions.get(executionId)?.attempts.find((known) => known.attempt === attempt) ?? null;
    const currentUntil = Math.min(endedAt, declaredEnd(evidence, record));
    return [
      { pid, executionId, attempt, key, startedAt, endedAt, resultSha: end?.resultSha ?? null, record, currentUntil },
    ];
  });
}

/** From then on the attempt may not be heard any more, whatever its handler does. */
function declaredEnd({ wallClockZeroMs, toleranceMs }: Evidence, record: AttemptRecord | null): number {
  if (record === null || !["WORKER_LOST", "TIMED_OUT", "CANCELLED"].includes(record.state)) {
    return Number.POSITIVE_INFINITY;
  }
  return Date.parse(record.finishedAt) + wallClockZeroMs - toleranceMs;
}

function runName({ pid, executionId, attempt }: { pid: number; executionId: string; attempt: number }): string {
  return `${executionId}:${attempt}@${pid}`;
}

function allOrders(clients: readonly ClientEvent[]): Map<string, Ordered> {
  const orders = new Map<string, Ordered>();
  for (const event of clients) {
    if (event.event === "INTENDED") orders.set(event.key, { intended: event, answers: [], refusals: [] });
    if (event.event === "ANSWERED") orders.get(event.key)?.answers.push(event);
    if (event.event === "REFUSED") orders.get(event.key)?.refusals.push(event);
  }
  return orders;
}
