import type { Logger } from "pino";
import { Type } from "typebox";
import { Batch } from "./batch.ts";
import { answer, problems } from "./documented.ts";
import { invalid } from "./errors.ts";
import { type HttpApp, validator } from "./http-app.ts";
import { idempotencyOf, type JobIntake } from "./job-intake.ts";
import { BATCH_BODY_BYTES_MAX } from "./json-body.ts";
import { elementsOf, memberOf } from "./json-scan.ts";
import { DeduplicatedBody, JobSubmission, SubmittedBody } from "./schemas/job.ts";
import { ProblemBody } from "./schemas/node.ts";
import { IdempotencyHeaders, payloadIn, refusal } from "./submit-route.ts";
import { compileCheck } from "./validation.ts";

const closed = { additionalProperties: false } as const;
const size = { minItems: 1, maxItems: 10_000, description: "1 to 10,000 jobs, 32 MiB in all" };
const BatchSubmission = Type.Object({ jobs: Type.Array(JobSubmission, size) }, closed);
/** What the whole must be; each job is judged by itself, so that a bad one does not stop the others. */
const Envelope = Type.Object({ jobs: Type.Array(Type.Unknown(), size) }, closed);

const ItemError = Type.Object({
  index: Type.Integer({ description: "its place in `jobs`, from 0" }),
  error: ProblemBody,
});
const BatchBody = Type.Object({ items: Type.Array(Type.Union([SubmittedBody, DeduplicatedBody, ItemError])) });

/** POST /v1/jobs/batch */
export function batchRoute(app: HttpApp, intake: JobIntake, log: Logger): void {
  const jobCheck = compileCheck(JobSubmission);
  const schema = {
    operationId: "submitJobs",
    tags: ["jobs"],
    summary: "Submit up to 10,000 jobs; bad ones are reported, the good ones are taken",
    headers: IdempotencyHeaders,
    body: BatchSubmission,
    response: {
      200: answer(BatchBody, "One item a job, in order: what a single submit answers, or its error"),
      ...problems("payload-too-large", "unsupported-media-type", "idempotency-key-reused"),
    },
  };
  const compilers: Record<string, ReturnType<typeof validator>> = { body: validator(Envelope, false) };
  app.post(
    "/v1/jobs/batch",
    {
      schema,
      bodyLimit: BATCH_BODY_BYTES_MAX,
      validatorCompiler: ({ schema, httpPart }) => compilers[httpPart ?? ""] ?? validator(schema, false),
    },
    async (request, reply) => {
      const batch = new Batch(request.body.jobs.length);
      const values: readonly unknown[] = request.body.jobs;
      // There is one: its schema was met.
      const bytes = request.rawBody as Buffer;
      const payloads = payloadsIn(bytes);
      for (const [index, value] of values.entries()) {
        const payload = payloads[index] ?? null;
        const error = jobCheck.ok(value) ? refusal(value, payload) : invalid(jobCheck.errors(value));
        if (error === null) batch.add(index, { job: value as JobSubmission, payload });
        else batch.refuse(index, error);
      }
      const idempotency = idempotencyOf(request.headers["idempotency-key"], "/v1/jobs/batch", bytes);
      const { replayed } = await batch.take(intake, idempotency, log);
      if (replayed) void reply.header("idempotent-replayed", "true");
      return { items: batch.items };
    },
  );
}

/** The payload of each job of a batch, in order. */
function payloadsIn(body: Buffer): (Uint8Array | null)[] {
  const jobs = memberOf(body, 0, "jobs");
  return jobs === null ? [] : elementsOf(body, jobs.start).map(({ start }) => payloadIn(body, start));
}
