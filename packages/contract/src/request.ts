import { type Static, Type } from "typebox";
import { REQUEST_SOURCES, REQUEST_STATES } from "./enums.ts";
import { InstantOrNull, named, oneOf, orNull, StringOrNull, Uuid } from "./fields.ts";
import { ProblemBody } from "./node.ts";

export const RequestState = oneOf(
  REQUEST_STATES,
  "ACCEPTED: it is durable, and a server will decide it. TAKEN_IN: its job is there. REFUSED: it will never become a job",
  "RequestState",
);

export const RequestSource = oneOf(
  REQUEST_SOURCES,
  "SQL: mainspring_submit in a transaction of an application. KAFKA: a record in the topic of requests",
);

/** Id of a request: a UUID, or the position of a record. */
export const RequestId = Type.String({
  pattern: "^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9]{1,5}-[0-9]{1,16})$",
  description:
    "SQL: a UUID, that of the job too, if it runs once and no key led to another job. KAFKA: partition and offset of the record, such as 12-34567",
});

const summary = {
  requestId: RequestId,
  source: RequestSource,
  state: RequestState,
  createdAt: InstantOrNull("when the request was written; null: a record of Kafka that is not decided"),
  finishedAt: InstantOrNull("when a server decided it; null: ACCEPTED"),
  jobId: orNull(Uuid("a job"), "that the request has become; null: none"),
  executionId: orNull(Uuid("an execution"), "the first one of the job; null: none, or the job recurs"),
  deduplicated: Type.Boolean({ description: "whether another job has the unique key: the ids are those of that one" }),
  idempotencyKey: StringOrNull("null: none"),
  problem: orNull(ProblemBody, "why the request was refused, as POST /v1/jobs would have answered; null: not REFUSED"),
};

export const RequestSummaryBody = named("JobRequestSummary", summary);
export type RequestSummaryBody = Static<typeof RequestSummaryBody>;

export const RequestBody = named("JobRequest", {
  ...summary,
  job: Type.Unknown({ description: "as it was submitted; null: TAKEN_IN, so that the job has it, or KAFKA has it" }),
});
export type RequestBody = Static<typeof RequestBody>;
