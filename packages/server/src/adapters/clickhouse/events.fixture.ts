import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import { type LifecycleEvent, NO_EVENT_FIELDS } from "../../domain/lifecycle-event.ts";
import type { EventRow } from "../../ports/store-events.ts";

/** Instants of the day of the guide. @param time as 08:00:00.000 */
function at(time: string): EpochMs {
  return Date.parse(`2026-03-10T${time}Z`);
}

/** UUIDv7 of an instant. */
function idOf(time: EpochMs, number: number): ExecutionId {
  const digits = time.toString(16).padStart(12, "0");
  return `${digits.slice(0, 8)}-${digits.slice(8)}-7000-8000-${String(number).padStart(12, "0")}`;
}

type Fields = Partial<LifecycleEvent>;

const MAIL = { pool: "default", handler: "send-email", jobVersion: 1 };
const REPORT = { pool: "reports", handler: "nightly-report", jobVersion: 3 };
const NIGHTLY = idOf(at("01:00:00.000") - 30 * 86_400_000, 900);

/** Events of an execution that is created and is due at one instant. */
class Tale {
  readonly events: LifecycleEvent[] = [];
  readonly #fields: Fields;

  constructor(number: number, time: string, fields: Fields) {
    const executionId = idOf(at(time), number);
    const jobId = fields.jobId ?? idOf(at(time), 500 + number);
    this.#fields = { ...fields, executionId, jobId, scheduledAt: at(time) };
    const created = { trigger: "API", createdAt: at(time), state: "PENDING" } as const;
    this.tell("JobCreated", time, { ...created, ...(fields.trigger && { trigger: fields.trigger }) });
  }

  tell(kind: LifecycleEvent["kind"], time: string, fields: Fields): this {
    const own = { trigger: null, ...fields, kind, at: at(time) };
    this.events.push({ ...NO_EVENT_FIELDS, tenant: "default", ...this.#fields, ...own } as LifecycleEvent);
    return this;
  }

  /** Assignment and start of an attempt. */
  run(attempt: number, workerId: string, startedAt: string, fields: Fields = {}): this {
    const { handler = this.#fields.handler as string } = fields;
    Object.assign(this.#fields, { attempt, workerId, handler, ...fields });
    this.tell("JobAssigned", startedAt, { state: "SCHEDULED" });
    return this.tell("JobStarted", startedAt, { state: "RUNNING", startedAt: at(startedAt) });
  }

  end(kind: LifecycleEvent["kind"], startedAt: string | null, time: string, fields: Fields): this {
    const started = startedAt === null ? null : at(startedAt);
    return this.tell(kind, time, { startedAt: started, finishedAt: at(time), ...fields });
  }
}

const DONE = { state: "SUCCEEDED" } as const;
const SMTP = { failures: 1, errorName: "SmtpError" };
const DEAD = { ...SMTP, state: "DEAD" } as const;

/** The day of the guide, in the order of its executions. */
export function eventsOfTheDay(): LifecycleEvent[] {
  const tales = [
    new Tale(1, "08:00:00.000", MAIL)
      .run(1, "w1", "08:00:00.020")
      .tell("StepRecorded", "08:00:00.200", { state: "RUNNING", step: "render" })
      .end("JobCompleted", "08:00:00.020", "08:00:00.520", DONE),
    new Tale(2, "08:30:00.000", MAIL)
      .run(1, "w1", "08:30:02.000")
      .end("JobFailed", "08:30:02.000", "08:30:02.300", { ...SMTP, state: "PENDING", reason: "FAILED" })
      .run(2, "w1", "08:30:10.000", { failures: 1 })
      .end("JobCompleted", "08:30:10.000", "08:30:11.200", DONE),
    new Tale(3, "09:00:00.000", MAIL)
      .run(1, "w1", "09:00:00.100")
      .end("JobFailed", "09:00:00.100", "09:00:00.200", { ...DEAD, reason: "FAILED" })
      .end("JobDeadLettered", "09:00:00.100", "09:00:00.200", { ...DEAD, reason: "NOT_RETRYABLE" }),
    new Tale(4, "02:00:00.000", { ...REPORT, jobId: NIGHTLY, trigger: "SCHEDULE" })
      .run(1, "w2", "02:00:00.050")
      .end("JobFailed", "02:00:00.050", "02:00:40.000", { state: "PENDING", reason: "WORKER_LOST", lost: 1 })
      .run(2, "w3", "02:00:41.000", { lost: 1 })
      .end("JobCompleted", "02:00:41.000", "02:01:41.000", DONE),
    new Tale(5, "09:10:00.000", MAIL),
    new Tale(6, "09:20:00.000", MAIL).end("JobCancelled", null, "09:20:05.000", { state: "CANCELLED" }),
    // The job is replaced while it waits, so the attempt runs another handler at another instant.
    new Tale(7, "09:30:00.000", MAIL)
      .run(1, "w1", "10:00:00.010", { handler: "send-sms", scheduledAt: at("10:00:00.000"), jobVersion: 2 })
      .end("JobCompleted", "10:00:00.010", "10:00:00.060", DONE),
  ];
  const skipped = { ...NO_EVENT_FIELDS, ...REPORT, tenant: "default", jobId: NIGHTLY, state: "SKIPPED" } as const;
  const scheduledAt = at("03:00:00.000");
  const skip: LifecycleEvent = { ...skipped, kind: "JobSkipped", at: scheduledAt, reason: "PAUSED", scheduledAt };
  return [...tales.flatMap(({ events }) => events), skip, ...session("w1", "07:00:00.000", "12:00:00.000")];
}

/** Events of a worker's session. */
function session(workerId: string, from: string, to: string): LifecycleEvent[] {
  const of = { ...NO_EVENT_FIELDS, tenant: "default", pool: "default", handler: "", jobVersion: 0, workerId };
  const own = { ...of, session: idOf(at(from), 800) };
  return [
    { ...own, kind: "WorkerRegistered", at: at(from) },
    { ...own, kind: "WorkerDead", at: at(to), reason: "LEFT" },
  ];
}

/** Rows of two shards that have these events, some to each row. */
export function rowsOf(events: readonly LifecycleEvent[]): EventRow[] {
  const rows: EventRow[] = [];
  for (let from = 0; from < events.length; from += 4) {
    rows.push({ shard: (from / 4) % 2, epoch: 5, seq: from + 1, events: events.slice(from, from + 4) });
  }
  return rows;
}
