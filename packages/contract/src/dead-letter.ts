import { type Static, Type } from "typebox";
import { ErrorBody, summaryFields, times } from "./execution.ts";
import { Count, Instant, InstantOrNull, named, oneOf, orNull, StringOrNull, Uuid, Word } from "./fields.ts";

const closed = { additionalProperties: false } as const;

export const letterFilter = {
  pool: Type.Optional(Word("a pool's name")),
  handler: Type.Optional(Word("a handler's name")),
  jobId: Type.Optional(Uuid("a job")),
  since: Type.Optional(Instant("died at or after")),
  until: Type.Optional(Instant("died before")),
};
export const LetterFilter = named("DeadLetterFilter", letterFilter, {
  ...closed,
  description: "all that match all of it; {}: every dead letter",
});
export type LetterFilter = Static<typeof LetterFilter>;

/** A selection of dead letters. Exactly one of its two fields must be present, which the route checks. */
export const Selection = named(
  "DeadLetterSelection",
  {
    executionIds: Type.Optional(
      Type.Array(Uuid("a dead letter"), { minItems: 1, maxItems: 1_000, description: "1 to 1,000 dead letters" }),
    ),
    filter: Type.Optional(LetterFilter),
  },
  closed,
);
export type Selection = Static<typeof Selection>;

export const DeadLetterBody = named("DeadLetter", {
  ...summaryFields,
  error: orNull(ErrorBody, "what the last attempt failed with"),
  ...times,
});

export const SettledBody = named("SettledDeadLetters", {
  items: Type.Array(
    named("SettledDeadLetter", {
      executionId: Uuid("as asked for"),
      outcome: oneOf(
        ["REPLAYED", "DISCARDED", "NOT_A_DEAD_LETTER", "KEY_HELD", "OF_WORKFLOW"],
        "NOT_A_DEAD_LETTER: unknown, not DEAD, settled before, or of a deleted job (which can be discarded, not replayed); KEY_HELD: an execution that is not final has its unique key; OF_WORKFLOW: a run of a workflow, or a node of one: POST /v1/workflows/{workflowId}/retry runs its failed part again",
      ),
      newExecutionId: StringOrNull("of the execution that a replay has made"),
    }),
    { description: "one for each id, in order" },
  ),
});
export type SettledBody = Static<typeof SettledBody>;

export const DeadLetterRunBody = named("DeadLetterRun", {
  runId: Uuid("the run"),
  action: oneOf(["REPLAY", "DISCARD"], "what is done with what matches"),
  filter: LetterFilter,
  state: oneOf(["RUNNING", "FINISHED"], "a run goes on by itself, also after a server's restart"),
  settled: Count("letters replayed or discarded so far"),
  skipped: Count(
    "letters that stayed, because an execution that is not final has their unique key, or because they are runs of workflows, which are not replayed: submit them again",
  ),
  createdAt: Instant("what dies later by executions made later is left alone"),
  finishedAt: InstantOrNull("when nothing was left to do"),
});
export type DeadLetterRunBody = Static<typeof DeadLetterRunBody>;
