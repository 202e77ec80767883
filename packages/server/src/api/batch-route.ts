import type { Logger } from "pino";
import { type TSchema, Type } from "typebox";
import type { EpochMs } from "../domain/ids.ts";
import type { Runtime } from "../ports/runtime.ts";
import { Batch } from "./batch.ts";
import { parseBatchBody, parseJobs } from "./batch-body.ts";
import { answer, problems } from "./documented.ts";
import { invalid } from "./errors.ts";
import { type HttpApp, takeJson, validator } from "./http-app.ts";
import { idempotencyOf, type JobIntake } from "./job-intake.ts";
import { BATCH_BODY_BYTES_MAX } from "./json-body.ts";
import type { Slice } from "./json-scan.ts";
import { DeduplicatedBody, JobSubmission, SubmittedBody } from "./schemas/job.ts";
import { ProblemBody } from "./schemas/node.ts";
import { firesAfter, IdempotencyHeaders, payloadIn, refusal } from "./submit-route.ts";
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
export function batchRoute(app: HttpApp, intake: JobIntake, runtime: Runtime, log: Logger): void {
  const schema = {
    operationId: "submitJobs",
    tags: ["jobs"],
    summary: "Submit up to 10,000 jobs; bad ones are reported, the good ones are taken",
    headers: IdempotencyHeaders,
    body: BatchSubmission,
    response: {
      200: answer(BatchBody, "One item a job, in order: what a single submit answers, or its error"),
      ...problems("payload-too-large", "unsupported-media-type", "idempotency-key-reused", "wrong-state"),
    },
  };
  const validators: Record<string, ReturnType<typeof validator>> = { body: validator(Envelope, false) };
  const options = {
    schema,
    bodyLimit: BATCH_BODY_BYTES_MAX,
    validatorCompiler: ({ schema, httpPart }: { schema: TSchema; httpPart?: string }) =>
      validators[httpPart ?? ""] ?? validator(schema, false),
  };
  void app.register(async (scope) => {
    takeJson(scope, parseBatchBody);
    (scope as HttpApp).post("/v1/jobs/batch", options, async (request, reply) => {
      // What the parser made of the body, which is there, as its schema was met.
      const slices = request.body.jobs as unknown as Slice[];
      const bytes = request.rawBody as Buffer;
      const idempotency = idempotencyOf(request.headers["idempotency-key"], "/v1/jobs/batch", bytes);
      const batch = await receive(bytes, slices, runtime, firesAfter(idempotency, runtime));
      const { replayed } = await batch.take(intake, idempotency, log);
      if (replayed) void reply.header("idempotent-replayed", "true");
      return { items: batch.items };
    });
  });
}

const jobCheck = compileCheck(JobSubmission);
/** After so much the others have their turn. */
const TURN_BYTES = 256 * 1024;

/** Judges each job by itself. @throws {ProblemError} malformed-json, for all of them */
async function receive(bytes: Buffer, slices: readonly Slice[], runtime: Runtime, after: EpochMs): Promise<Batch> {
  const batch = new Batch(slices.length);
  for (let from = 0; from < slices.length; ) {
    if (from > 0) await new Promise<void>((resolve) => void runtime.setTimer(0, resolve));
    const turn = slices.slice(from, turnEnd(slices, from));
    for (const [place, job] of parseJobs(bytes, turn, from).entries()) {
      const payload = payloadIn(bytes, turn[place]?.start ?? 0);
      const error = jobCheck.ok(job) ? refusal(job, payload, after) : invalid(jobCheck.errors(job));
      if (error === null) batch.add(from + place, { job: job as JobSubmission, payload });
      else batch.refuse(from + place, error);
    }
    from += turn.length;
  }
  return batch;
}

/** Of so many bytes, but one job at least. */
function turnEnd(slices: readonly Slice[], from: number): number {
  const endBytes = (slices[from]?.start ?? 0) + TURN_BYTES;
  let until = from + 1;
  while (until < slices.length && (slices[until]?.end ?? 0) <= endBytes) until++;
  return until;
}
