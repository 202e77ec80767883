import { type Static, Type } from "typebox";
import { MISFIRES, OVERLAPS } from "./enums.ts";
import { ExecutionState, Trigger } from "./execution.ts";
import { Count, described, Instant, InstantOrNull, named, oneOf, orNull, Uuid } from "./fields.ts";
import { JobState } from "./job-fields.ts";
import { DstFields, FireBody, LocalTime, ScheduleText, ScheduleWords, TimeZoneName } from "./schedule.ts";

const DAY_SEC = 86_400;
const YEAR_SEC = 365 * DAY_SEC;
const closed = { additionalProperties: false } as const;

/** Schedule of a recurring job, the same in requests and answers. */
export const RecurrenceFields = {
  schedule: ScheduleText,
  timezone: TimeZoneName,
  dst: DstFields,
  everySec: Type.Number({ minimum: 1, maximum: 3_660 * DAY_SEC, description: "fires at this interval; 1 s or more" }),
  everyMode: oneOf(
    ["FIXED_RATE", "FIXED_DELAY"],
    "everySec counts from startAt, else from the creation, however long executions take (FIXED_RATE, the default), or " +
      "from the end of the last execution (FIXED_DELAY)",
    "EveryMode",
  ),
  startAt: Instant("nothing is planned before; ISO 8601 with a zone"),
  endAt: Instant("nothing is planned then or later; ISO 8601 with a zone"),
  maxFires: Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: "so many fires in all" }),
  spreadSec: Type.Number({
    minimum: 0,
    maximum: DAY_SEC,
    description:
      "every fire is later by a time below this, always the same for the job, so that a herd is spread; default 0",
  }),
  overlap: oneOf(
    OVERLAPS,
    "when the execution before is not final: ALLOW runs beside it, SKIP (default) leaves this one out, BUFFER_ONE runs one " +
      "after it, CANCEL_PREVIOUS cancels it first",
    "Overlap",
  ),
  misfire: oneOf(
    MISFIRES,
    "treatment of instants that passed while nothing could fire: SKIP none runs, FIRE_ONCE (default) the last one, FIRE_ALL the " +
      "newest maxCatchUp",
    "Misfire",
  ),
  misfireGraceSec: Type.Number({
    minimum: 0,
    maximum: YEAR_SEC,
    description: "what fires later than planned by no more than this is no misfire; default 60",
  }),
  maxCatchUp: Type.Integer({ minimum: 1, maximum: 10_000, description: "what FIRE_ALL runs at most; default 100" }),
  startWithinSec: Type.Number({
    minimum: 0.001,
    maximum: YEAR_SEC,
    description: "what has not started so long after its planned instant is SKIPPED; default: no bound",
  }),
};

export const CatchUpBody = named("CatchUp", {
  id: Uuid("the backfill"),
  trigger: oneOf(["SCHEDULE", "BACKFILL"], "misfired, or asked for"),
  nextAt: Instant("where it goes on"),
  until: Instant("what it does not reach any more"),
  maxRunning: Count("how many of it may be open at once"),
  running: Count("how many are"),
});

/** Outcome of a change of a recurring job's plan. */
export const PlanBody = named("JobPlan", {
  jobId: Uuid("the job"),
  state: described(JobState, "as it is now"),
  nextFireAt: InstantOrNull("when it fires next; null: it does not, or that is not known yet"),
});
export type PlanBody = Static<typeof PlanBody>;

export const ResumeRequest = named(
  "ResumeRequest",
  {
    catchUp: Type.Optional(
      Type.Boolean({
        description: "treat what fell into the pause as `misfire` says, rather than as skipped; default false",
      }),
    ),
  },
  closed,
);

export const BackfillRequest = named(
  "BackfillRequest",
  {
    since: Instant("the first instant of the past that is made up for; ISO 8601 with a zone"),
    until: Type.Optional(Instant("where that ends, itself not included; not in the future; default: now")),
    maxRunning: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 100, description: "how many of them may be open at once; default 1" }),
    ),
  },
  closed,
);
export type BackfillRequest = Static<typeof BackfillRequest>;

export const BackfillBody = named("StartedBackfill", {
  ...PlanBody.properties,
  backfill: named("Backfill", {
    since: Instant("as asked for"),
    until: Instant("as asked for"),
    maxRunning: Count("as asked for"),
    planned: Count("planned instants in between; those that have run already are left out"),
  }),
});

export const TriggeredBody = named("TriggeredExecution", {
  executionId: Uuid("the new execution"),
  jobId: Uuid("its job"),
});

export const NextFiresBody = named("NextFires", {
  state: JobState,
  words: ScheduleWords,
  fires: Type.Array(FireBody, { description: "in order; none where nothing is planned, one with a fixed delay" }),
});

const LedgerRun = named(
  "LedgerRun",
  {
    executionId: Uuid("the execution"),
    trigger: described(Trigger, "SCHEDULE, or BACKFILL where it was made up for on request"),
    state: ExecutionState,
    startedAt: InstantOrNull("first start of any attempt"),
    latenessMs: orNull(Type.Integer(), "first start minus planned instant, or minus the time of the backfill"),
    late: Type.Boolean({
      description:
        "it started later than planned by more than misfireGraceSec, or still waits then; a backfill is planned when it is asked for",
    }),
  },
  { description: "execution of the instant" },
);

export const LedgerItemBody = named("LedgerItem", {
  at: Instant("the planned instant"),
  local: LocalTime,
  outcome: oneOf(
    ["RAN", "WAITING", "SKIPPED", "MISSED"],
    "RAN: it has started. WAITING: it has not yet. SKIPPED: it did not run, for `reason`. MISSED: there is no trace of it, " +
      "which must not happen",
  ),
  run: Type.Optional(LedgerRun),
  reason: Type.Optional(Type.String({ description: "why it was skipped" })),
  until: Type.Optional(Instant("the last one, where the item stands for several in a row")),
  count: Type.Optional(Count("how many the item stands for, where more than one")),
});
export type LedgerItemBody = Static<typeof LedgerItemBody>;

export const LedgerBody = named("Ledger", {
  items: Type.Array(LedgerItemBody),
  nextCursor: orNull(Type.String(), "what to pass as `cursor` for the next page; null: there is none"),
  accountedUntil: InstantOrNull(
    "what is planned from here on is not accounted for yet; of a fixed delay whose execution has not ended, the time of this answer; " +
      "null: nothing is planned any more",
  ),
  missedSince: InstantOrNull("MISSED is looked for from here on: the last edit, or as long as history is kept"),
});
