import { BatchBody, BatchEnvelope, BatchSubmission, JobSubmission } from "@mainspring/contract";
import { BATCH_BODY_BYTES_MAX } from "@mainspring/contract/limits";
import type { Logger } from "pino";
import type { TSchema } from "typebox";
import type { EpochMs } from "../domain/ids.ts";
import { Batch } from "./batch.ts";
import type { ReceivedBody } from "./body-reader.ts";
import { answer, problems } from "./documented.ts";
import { invalid } from "./errors.ts";
import { type HttpApp, validator } from "./http-app.ts";
import { idempotencyOf } from "./job-intake.ts";
import { BatchParts, groupsOf, type JobSlice, parseJobs } from "./json-parts.ts";
import { bytesOf, firesAfter, IdempotencyHeaders, refusal, type SubmitParts } from "./submit-route.ts";
import { compileCheck } from "./validation.ts";

/** POST /v1/jobs/batch */
export function batchRoute(app: HttpApp, parts: SubmitParts, log: Logger): void {
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
  const validators: Record<string, ReturnType<typeof validator>> = { body: validator(BatchEnvelope, false) };
  const options = {
    schema,
    bodyLimit: BATCH_BODY_BYTES_MAX,
    validatorCompiler: ({ schema, httpPart }: { schema: TSchema; httpPart?: string }) =>
      validators[httpPart ?? ""] ?? validator(schema, false),
  };
  void app.register(async (scope) => {
    app.takeBodies(scope, () => new BatchParts());
    (scope as HttpApp).post("/v1/jobs/batch", options, async (request, reply) => {
      // There is one, because its schema was met: the jobs are what the reader made of them.
      const received = request.received as ReceivedBody;
      const slices = request.body.jobs as unknown as JobSlice[];
      const idempotency = idempotencyOf(request.headers["idempotency-key"], received);
      const batch = await receive(received.bytes, slices, parts, firesAfter(idempotency, parts.runtime));
      const { replayed } = await batch.take(parts.intake, idempotency, log);
      if (replayed) void reply.header("idempotent-replayed", "true");
      return { items: batch.items };
    });
  });
}

const jobCheck = compileCheck(JobSubmission);

/** Judges each job by itself. @throws {ProblemError} there are many, and none of them is good */
async function receive(
  bytes: Buffer,
  slices: readonly JobSlice[],
  { intake: { turns }, pools }: SubmitParts,
  after: EpochMs,
): Promise<Batch> {
  const batch = new Batch(slices.length);
  let index = 0;
  for (const group of groupsOf(slices)) {
    for (const [place, job] of parseJobs(bytes, group).entries()) {
      if (turns.isOver) await turns.next();
      const payload = bytesOf(bytes, group[place]?.payload ?? null);
      const error = jobCheck.ok(job)
        ? refusal(job, payload, after, pools)
        : invalid(jobCheck.errors(job, batch.faultsLeft));
      if (error === null) batch.add(index, { job: job as JobSubmission, payload });
      else batch.refuse(index, error);
      index++;
    }
  }
  batch.refuseIfHopeless();
  return batch;
}
