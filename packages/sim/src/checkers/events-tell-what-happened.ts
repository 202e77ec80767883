import { isDeepStrictEqual } from "node:util";
import {
  type Committed,
  type ExecutionRow,
  eventId,
  type LifecycleEvent,
  type StoreEvent,
} from "@mainspring/server/testing";
import { type Checker, Violation } from "./checker.ts";
import { isRun } from "./recurring/ledger.ts";

const END_KINDS: Readonly<Partial<Record<string, LifecycleEvent["kind"]>>> = {
  SUCCEEDED: "JobCompleted",
  CANCELLED: "JobCancelled",
  SKIPPED: "JobSkipped",
  DEAD: "JobDeadLettered",
};
const FAILURES: readonly string[] = ["FAILED", "TIMED_OUT", "WORKER_LOST"];

/**
 * Every committed change of a state, and every step whose value counts, has its lifecycle event, in the commit that made it, and no other event exists. Events of
 * submits and changes of jobs follow with a commit of the owner, and none waits in the end. The rows of a shard grow by epoch
 * and number. An event comes once; only a start and the events of a worker may be told again, under the same id. A worker's
 * session ends once, and only if it has begun.
 */
export function eventsTellWhatHappened(isTelling: boolean): Checker {
  const account = new Account();
  const sessions = new Sessions();
  return {
    name: "events tell what happened",
    saw(event) {
      if (!isTelling) return;
      for (const id of leftBy(event, account)) account.waiting.add(id);
      if (event.kind === "EVENTS_LEFT") for (const one of event.events) sessions.left(one);
      if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") account.committed(event);
    },
    atEnd() {
      const [first] = account.waiting;
      if (first !== undefined) throw new Violation(`${account.waiting.size} events were never told, such as ${first}`);
    },
  };
}

/** Sessions of workers, as gateways tell them. */
class Sessions {
  readonly #begins = new Map<string, LifecycleEvent>();
  readonly #ends = new Map<string, LifecycleEvent>();

  /** Each session begins once, and ends once and after its begin. An event may be left again, and then says the same. */
  left(event: LifecycleEvent): void {
    const { kind, session, workerId } = event;
    if (session === null) throw new Violation(`a gateway has told ${eventId(event)}, which is not about a worker`);
    const begin = this.#begins.get(session);
    if (kind === "WorkerDead" && begin?.workerId !== workerId)
      throw new Violation(`the session ${session} of the worker ${workerId} ended, and has not begun`);
    const known = kind === "WorkerDead" ? this.#ends : this.#begins;
    const before = known.get(session);
    if (before !== undefined && !isDeepStrictEqual(before, event))
      throw new Violation(`the session ${session} of the worker ${workerId} was told twice, and not alike: ${kind}`);
    known.set(session, event);
  }
}

class Account {
  /** Events that submits and changes of jobs have left, and that no commit has kept yet. */
  readonly waiting = new Set<string>();
  readonly #told = new Set<string>();
  readonly #last = new Map<number, { epoch: number; seq: number }>();
  /** Versions of jobs that are not deleted. */
  readonly versions = new Map<string, number>();

  committed(event: Committed): void {
    const { events, asked } = event;
    const expected = expectedOf(event);
    for (const one of events) {
      const id = eventId(one);
      const isLeft = this.waiting.delete(id);
      // A gateway that got no answer leaves its events again.
      const mayRepeat = one.kind === "JobStarted" || (isLeft && one.session !== null);
      const isRepeat = this.#told.has(id) && !mayRepeat;
      if (isRepeat) throw new Violation(`the event ${id} was told twice`);
      if (!isLeft && !expected.delete(id)) throw new Violation(`the event ${id} tells what was not written`);
      this.#told.add(id);
    }
    for (const id of expected) {
      // The start of an attempt may have been told with its own row.
      if (!this.#told.has(id)) throw new Violation(`the commit has no event ${id}`);
    }
    if (events.length === 0 || asked.told === undefined) return;
    const { shard, epoch, told } = asked;
    const last = this.#last.get(shard) ?? { epoch: 0, seq: 0 };
    if (epoch < last.epoch || (epoch === last.epoch && told.seq <= last.seq))
      throw new Violation(`the shard ${shard} has the row ${epoch}/${told.seq} after ${last.epoch}/${last.seq}`);
    this.#last.set(shard, { epoch, seq: told.seq });
  }
}

/** Ids of the events of a commit. A start may have been told before. */
function expectedOf({ asked, applied, born, nodes, planned, recorded, outcome }: Committed): Set<string> {
  const expected = new Set<string>();
  const missed = new Set([...outcome.missed, ...outcome.refused.map(({ id }) => id)]);
  for (const { id, attempt } of asked.assigned) if (!missed.has(id)) expected.add(`${id}/${attempt}/JobAssigned`);
  const written = new Set(applied.map(({ after }) => after.id));
  for (const change of asked.changes) {
    const { id, ended, state, queue, attempt, attemptStartedAt } = change;
    if (!written.has(id)) continue;
    for (const end of ended) {
      if (end.startedAt !== null) expected.add(`${id}/${end.attempt}/JobStarted`);
      if (FAILURES.includes(end.state)) expected.add(`${id}/${end.attempt}/JobFailed`);
      if (end.state === "SUSPENDED") expected.add(`${id}/${end.attempt}/JobSuspended`);
    }
    if (state === "RUNNING" && (queue === "OPEN" || attemptStartedAt !== null))
      expected.add(`${id}/${attempt}/JobStarted`);
    if (queue === "NONE") expected.add(`${id}/${attempt}/${END_KINDS[state]}`);
  }
  for (const row of [...born, ...nodes]) {
    expected.add(`${row.id}/0/${row.state === "SKIPPED" ? "JobSkipped" : "JobCreated"}`);
    if (row.attempt > 0) expected.add(`${row.id}/${row.attempt}/JobAssigned`);
  }
  for (const { executionId, name, kind } of recorded)
    if (kind === "RESULT") expected.add(`${executionId}/StepRecorded/${name}`);
  for (const { after, skips } of planned)
    for (const { from } of skips) expected.add(`${after.jobId}/${from}/JobSkipped`);
  return expected;
}

/** Ids of the events that a change of the store other than a commit leaves for the owner. */
function leftBy(event: StoreEvent, { versions }: Account): string[] {
  if (event.kind === "EVENTS_LEFT") return event.events.map(eventId);
  if (event.kind === "SUBMITTED") return leftBySubmit(event, versions);
  if (event.kind === "JOB_CHANGED")
    return [...(event.row === null ? [] : addedBy(event.row)), ...changeOf(event.job, versions)];
  return event.kind === "RUN_RETRIED" || event.kind === "SETTLED" ? event.rows.flatMap(addedBy) : [];
}

function leftBySubmit(
  { outcome, submission, rows }: Extract<StoreEvent, { kind: "SUBMITTED" }>,
  versions: Map<string, number>,
): string[] {
  if (outcome.kind !== "ACCEPTED" || outcome.replayed) return [];
  const recurring = submission.jobs.filter(
    ({ executionId }, i) => executionId === null && outcome.jobs[i]?.nameHeldBy === undefined,
  );
  for (const { jobId } of submission.jobs) versions.set(jobId, 1);
  return [...rows.flatMap(addedBy), ...recurring.map(({ jobId }) => `${jobId}/v1/JobCreated`)];
}

function addedBy(row: ExecutionRow): string[] {
  return [`${row.id}/0/JobCreated`, ...(isRun(row) && row.queue === "OPEN" ? [`${row.id}/0/JobStarted`] : [])];
}

function changeOf(
  { job: { jobId }, version, deletedAt }: Extract<StoreEvent, { kind: "JOB_CHANGED" }>["job"],
  versions: Map<string, number>,
): string[] {
  const before = versions.get(jobId);
  if (before === undefined) return [];
  versions.set(jobId, version);
  if (deletedAt !== null) versions.delete(jobId);
  return [
    ...(version > before ? [`${jobId}/v${version}/JobReplaced`] : []),
    ...(deletedAt === null ? [] : [`${jobId}/v${version}/JobDeleted`]),
  ];
}
