import { type Static, Type } from "typebox";
import { ExecutionState } from "./execution.ts";
import { Count, Instant, InstantOrNull, Line, named, oneOf, orNull, Uuid, Word } from "./fields.ts";
import { COUNTED_MAX, IdPrefix, LabelFilter } from "./listing.ts";

const closed = { additionalProperties: false } as const;

/** Filters of lists of executions, all of which an execution must meet. */
export const executionFilter = {
  state: Type.Optional(ExecutionState),
  pool: Type.Optional(Word("a pool's name")),
  handler: Type.Optional(Word("a handler's name")),
  label: LabelFilter,
  error: Type.Optional(
    Line(
      "text within the error's name and message, in capital or small letters; needs `state`, `since`, and at most a day between `since` and `until` (default: now)",
    ),
  ),
  since: Type.Optional(Instant("created at or after")),
  until: Type.Optional(Instant("created before")),
  idPrefix: IdPrefix,
};

export const ExecutionFilter = named(
  "ExecutionFilter",
  { ...executionFilter, jobId: Type.Optional(Uuid("a job")) },
  { ...closed, description: "all that match all of it" },
);
export type ExecutionFilter = Static<typeof ExecutionFilter>;

export const ExecutionCountBody = named("ExecutionCount", {
  matching: Type.Integer({ minimum: 0, maximum: COUNTED_MAX, description: "executions that match, as far as counted" }),
  hasMore: Type.Boolean({
    description:
      "whether there may be more: the count ends at 10,000 executions, and where it would examine more than 10,000 rows",
  }),
});
export type ExecutionCountBody = Static<typeof ExecutionCountBody>;

const ExecutionRunAction = oneOf(["CANCEL", "RETRY"], "action for each execution", "ExecutionRunAction");

/** Body of POST /v1/execution-runs and of its preview. */
export const ExecutionRunRequest = named(
  "ExecutionRunRequest",
  {
    action: ExecutionRunAction,
    filter: ExecutionFilter,
  },
  closed,
);
export type ExecutionRunRequest = Static<typeof ExecutionRunRequest>;

export const ExecutionRunBody = named("ExecutionRun", {
  runId: Uuid("the run"),
  action: ExecutionRunAction,
  filter: ExecutionFilter,
  state: oneOf(["RUNNING", "FINISHED", "STOPPED"], "a run goes on by itself, also after a server's restart"),
  expected: orNull(ExecutionCountBody, "executions that matched when the run began; null: not counted"),
  done: Count("executions cancelled, or asked to stop, or retried so far"),
  refused: Count("executions that matched and were left as they are"),
  refusals: Type.Record(Type.String(), Count("executions"), {
    description: "number of refused executions by the name of their problem, as `wrong-state` or `key-in-use`",
  }),
  createdAt: Instant("executions created later are left alone"),
  finishedAt: InstantOrNull("end of the run; null: it has not ended"),
});
export type ExecutionRunBody = Static<typeof ExecutionRunBody>;
