import type { AttemptRecord } from "@mainspring/sdk";
import type { ClientEvent, StepEvent, WorkerEvent } from "../history/events.ts";
import type { RequestEvent } from "../history/request-events.ts";
import type { NodeOfRun } from "../history/workflow-events.ts";
import type { Evidence, FinalExecution, FinalRequest } from "./evidence.ts";
import { allFlows, type Flow, idsOfFlows } from "./workflows/flows.ts";

type Of<E extends { event: string }, Name extends E["event"]> = Extract<E, { event: Name }>;
type Started = Of<WorkerEvent, "STARTED">;

/** One run of a handler, as its worker recorded it. Times are of the monotonic clock. */
export interface Run extends Omit<Started, "event" | "at" | "node" | "given"> {
  /** Node of a workflow that the handler ran; null: none. */
  node: NodeOfRun | null;
  /** Values that the handler got in place of references, by the node to which they refer. */
  given: Record<string, string>;
  startedAt: number;
  /** Time at which the handler ended, or its process was killed; Infinity: neither. */
  endedAt: number;
  /** SHA-256 of the returned value; null: the handler threw, or never ended. */
  resultSha: string | null;
  /** Server's record of the attempt; null: the server does not know of it. */
  record: AttemptRecord | null;
  /**
   * Time until which no other handler may run the execution: the end of this run, or the end of the attempt that the
   * server declared, if earlier.
   */
  currentUntil: number;
}

/** A job that a client submitted, and all answers that the client got. */
export interface Ordered {
  intended: Of<ClientEvent, "INTENDED">;
  answers: Of<ClientEvent, "ANSWERED">[];
  refusals: Of<ClientEvent, "REFUSED">[];
}

/** A request that an application wrote. If it has neither end, nobody knows the end of its transaction. */
export interface Written {
  written: Of<RequestEvent, "REQUEST_WRITTEN">;
  committedAt: number | null;
  rolledBack: Of<RequestEvent, "REQUEST_ROLLED_BACK"> | null;
  /** The request as the server shows it; null: it does not. */
  shown: FinalRequest | null;
}

/** A record that the server accepted. */
export interface Accepted {
  accepted: Of<ClientEvent, "RECORD_ACCEPTED">;
  /** The record as the server shows it; null: it does not. */
  shown: FinalRequest | null;
}

/** The evidence in order. */
export interface Case {
  evidence: Evidence;
  executions: ReadonlyMap<string, FinalExecution>;
  /** Runs of each execution, in the order of their starts. */
  runs: ReadonlyMap<string, readonly Run[]>;
  /** The same without runs that a worker started only after they had been declared over. */
  currentRuns: ReadonlyMap<string, readonly Run[]>;
  /** Events of durable steps of each execution that has any, in the order of their times. */
  steps: ReadonlyMap<string, readonly StepEvent[]>;
  /** Orders by the job's key. */
  orders: ReadonlyMap<string, Ordered>;
  /** Requests of applications by their ids. */
  requests: ReadonlyMap<string, Written>;
  /** Records that the server accepted. */
  records: readonly Accepted[];
  /** Workflows by their keys. */
  flows: ReadonlyMap<string, Flow>;
  /** Ids of the executions of runs of workflows, and of their nodes. */
  flowIds: { runs: ReadonlySet<string>; nodes: ReadonlySet<string> };
}

export function openCase(evidence: Evidence): Case {
  const executions = new Map(evidence.executions.map((execution) => [execution.executionId, execution]));
  const runs = allRuns(evidence, executions).sort((a, b) => a.startedAt - b.startedAt);
  return {
    evidence,
    executions,
    runs: byExecution(runs),
    currentRuns: byExecution(runs.filter(({ startedAt, currentUntil }) => startedAt < currentUntil)),
    steps: Map.groupBy(
      evidence.workers.filter(isOfSteps).sort((a, b) => a.at - b.at),
      (event) => event.executionId,
    ),
    orders: allOrders(evidence.clients),
    requests: allRequests(evidence),
    records: allRecords(evidence),
    flows: allFlows(evidence, runs),
    flowIds: idsOfFlows(evidence),
  };
}

function isOfSteps(event: WorkerEvent): event is StepEvent {
  return event.event !== "STARTED" && event.event !== "ABORTED" && event.event !== "ENDED";
}

function byExecution(runs: readonly Run[]): Map<string, Run[]> {
  return Map.groupBy(runs, ({ executionId }) => executionId);
}

/** Order that created the execution; null: no order did. */
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
    const { pid, executionId, attempt, key, node = null, given = {}, at: startedAt } = event;
    const end = ends.get(runName(event));
    const endedAt = end?.at ?? deaths.get(pid) ?? Number.POSITIVE_INFINITY;
    const record = executions.get(executionId)?.attempts.find((known) => known.attempt === attempt) ?? null;
    const currentUntil = Math.min(endedAt, declaredEnd(evidence, record));
    const run = { pid, executionId, attempt, key, node, given, startedAt, endedAt };
    return [{ ...run, resultSha: end?.resultSha ?? null, record, currentUntil }];
  });
}

/** Time from which on the server must not accept results of the attempt, even if its handler runs on. */
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

function allRecords({ clients, records }: Evidence): Accepted[] {
  const shown = new Map((records?.shown ?? []).map((record) => [record.requestId, record]));
  return clients.flatMap((event) =>
    event.event === "RECORD_ACCEPTED" ? [{ accepted: event, shown: shown.get(event.position) ?? null }] : [],
  );
}

function allRequests({ clients, requests }: Evidence): Map<string, Written> {
  const shown = new Map((requests ?? []).map((request) => [request.requestId, request]));
  const all = new Map<string, Written>();
  for (const event of clients) {
    if (event.event === "REQUEST_WRITTEN") {
      const { requestId } = event;
      all.set(requestId, { written: event, committedAt: null, rolledBack: null, shown: shown.get(requestId) ?? null });
    }
    const request = "requestId" in event ? all.get(event.requestId) : undefined;
    if (request === undefined) continue;
    if (event.event === "REQUEST_COMMITTED") request.committedAt = event.at;
    if (event.event === "REQUEST_ROLLED_BACK") request.rolledBack = event;
  }
  return all;
}
