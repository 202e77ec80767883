import { Type } from "typebox";
import { named } from "./fields.ts";
import { AcceptedBody, DeduplicatedBody, JobSubmission, SubmittedBody } from "./job.ts";
import { BATCH_JOBS_MAX, BATCH_KEYS_MAX } from "./limits.ts";
import { ProblemBody } from "./node.ts";

const closed = { additionalProperties: false } as const;
const size = { minItems: 1, maxItems: BATCH_JOBS_MAX, description: "1 to 10,000 jobs, 32 MiB in all" };

/**
 * Name of one submit: a repeat with the same key and the same request creates nothing and gets the first answer again.
 */
export const IdempotencyKey = Type.String({
  minLength: 1,
  maxLength: 255,
  pattern: "^[\\x21-\\x7e]+$",
  description: "1 to 255 visible ASCII characters; a repeat answers as the first request did; kept for 7 days",
});
const idempotencyKeys = Type.Optional(
  Type.Array(Type.Union([IdempotencyKey, Type.Null()]), {
    minItems: 1,
    maxItems: BATCH_KEYS_MAX,
    description:
      "a key for each of `jobs`, or null for a job without one; each job is then taken as if it had been submitted alone, and may be " +
      "repeated alone. A request with this list has no header Idempotency-Key, which is for the batch as a whole",
  }),
);

/** Body of POST /v1/jobs/batch. */
export const BatchSubmission = named(
  "BatchSubmission",
  { jobs: Type.Array(JobSubmission, size), idempotencyKeys },
  closed,
);
/**
 * Schema of the batch as a whole. The route checks each job by itself, so that a wrong job does not stop the others.
 */
export const BatchEnvelope = Type.Object({ jobs: Type.Array(Type.Unknown(), size), idempotencyKeys }, closed);

export const RefusedJob = named("RefusedJob", {
  index: Type.Integer({ description: "its place in `jobs`, from 0" }),
  error: ProblemBody,
});
export const BatchBody = named("BatchAnswer", {
  items: Type.Array(Type.Union([SubmittedBody, AcceptedBody, DeduplicatedBody, RefusedJob], { title: "BatchItem" })),
});
