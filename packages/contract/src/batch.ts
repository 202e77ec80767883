import { Type } from "typebox";
import { named } from "./fields.ts";
import { DeduplicatedBody, JobSubmission, SubmittedBody } from "./job.ts";
import { BATCH_JOBS_MAX } from "./limits.ts";
import { ProblemBody } from "./node.ts";

const closed = { additionalProperties: false } as const;
const size = { minItems: 1, maxItems: BATCH_JOBS_MAX, description: "1 to 10,000 jobs, 32 MiB in all" };

/** Body of POST /v1/jobs/batch. */
export const BatchSubmission = named("BatchSubmission", { jobs: Type.Array(JobSubmission, size) }, closed);
/** Schema of the batch as a whole; the route checks each job by itself, so that a bad one does not stop the others. */
export const BatchEnvelope = Type.Object({ jobs: Type.Array(Type.Unknown(), size) }, closed);

export const RefusedJob = named("RefusedJob", {
  index: Type.Integer({ description: "its place in `jobs`, from 0" }),
  error: ProblemBody,
});
export const BatchBody = named("BatchAnswer", {
  items: Type.Array(Type.Union([SubmittedBody, DeduplicatedBody, RefusedJob], { title: "BatchItem" })),
});
