import { createHash } from "node:crypto";
import { BatchBody, BatchEnvelope, BatchSubmission, JobSubmission } from "@mainspring/contract";
import { BATCH_BODY_BYTES_MAX } from "@mainspring/contract/limits";
import type { Logger } from "pino";
import type { TSchema } from "typebox";
import type { Tenant } from "../../ports/authenticator.ts";
import { hashedLine, type ReceivedBody } from "../http/body/body-reader.ts";
import { BatchParts, groupsOf, type JobSlice, parseJobs } from "../http/body/json-parts.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, ProblemError } from "../http/errors.ts";
import { type HttpApp, validator } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import { compileCheck } from "../http/validation.ts";
import { Batch } from "./batch.ts";
import { type Idempotency, idempotencyOf } from "./job-intake.ts";
import { bytesOf, firesAfter, refusal, type SubmitDependencies, SubmitHeaders } from "./submit-route.ts";

/** Route POST /v1/jobs/batch */
export function batchRoute(app: HttpApp, deps: SubmitDependencies, log: Logger): void {
  const schema = {
    operationId: "submitJobs",
    tags: ["jobs"],
    summary: "Submit up to 10,000 jobs; bad ones are reported, the good ones are taken",
    headers: SubmitHeaders,
    body: BatchSubmission,
    response: {
      200: answer(BatchBody, "One item a job, in order: what a single submit answers, or its error"),
      ...problems(...BATCH_PROBLEMS),
    },
  };
  const validators: Record<string, ReturnType<typeof validator>> = { body: validator(BatchEnvelope, false) };
  const options = {
    schema,
    config: { scope: "jobs:submit" as const },
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
      const tenant = tenantOfCaller(request);
      const idempotency = idempotencyOf(tenant, request.headers["idempotency-key"], received);
      const keys = keysOf(request.body, idempotency);
      const { traceparent } = request.headers;
      const batch = await receive({ tenant, bytes: received.bytes, slices, keys, traceparent }, deps, idempotency);
      const { intake, acceptorOf, quotas } = deps;
      const bodyBytes = received.bytes.length;
      const ways = { intake, acceptor: acceptorOf(tenant), quotas, bodyBytes, note: request.submitNote };
      const { replayed } = await batch.take(tenant, ways, idempotency, log);
      await batch.warn((job) => deps.handlers.warnings(tenant, job));
      if (replayed) void reply.header("idempotent-replayed", "true");
      return { items: batch.items };
    });
  });
}

const BATCH_PROBLEMS = [
  ...(["payload-too-large", "unsupported-media-type", "idempotency-key-reused", "wrong-state"] as const),
  ...(["quota-exceeded", "quota-never-fits"] as const),
];

const jobCheck = compileCheck(JobSubmission);

type Keys = readonly (string | null)[];

/**
 * Idempotency key of each job; empty: no job has one. @throws {ProblemError} 400 if the keys fit neither the jobs nor
 * the header
 */
function keysOf(
  { jobs, idempotencyKeys }: { jobs: readonly unknown[]; idempotencyKeys?: Keys },
  whole: Idempotency,
): Keys {
  if (idempotencyKeys === undefined) return [];
  const field = "idempotencyKeys";
  if (whole !== null) {
    const message = "must be left out where the header Idempotency-Key names the batch as a whole: send one of them";
    throw new ProblemError(invalid([{ field, message }]));
  }
  if (idempotencyKeys.length === jobs.length) return idempotencyKeys;
  const message = `must have one item for each of the ${jobs.length} jobs (null: no key), not ${idempotencyKeys.length}`;
  throw new ProblemError(invalid([{ field, message }]));
}

interface ReceivedBatch {
  tenant: Tenant;
  bytes: Buffer;
  slices: readonly JobSlice[];
  keys: Keys;
  /** Header of the request. */
  traceparent: string | undefined;
}

/** Checks each job by itself. @throws {ProblemError} there are many jobs, and all of them are wrong */
async function receive(
  { tenant, bytes, slices, keys, traceparent }: ReceivedBatch,
  deps: SubmitDependencies,
  whole: Idempotency,
): Promise<Batch> {
  const { intake, runtime, handlers, acceptorOf } = deps;
  const { turns } = intake;
  const batch = new Batch(slices.length);
  const fill = await (acceptorOf(tenant) ?? handlers).filler((idempotency) => intake.wasAnswered(idempotency));
  let index = 0;
  for (const group of groupsOf(slices)) {
    for (const [place, given] of parseJobs(bytes, group).entries()) {
      if (turns.isOver) await turns.next();
      const slice = group[place] as JobSlice;
      const payload = bytesOf(bytes, slice.payload);
      const own = ownIdempotency(tenant, keys[index] ?? null, bytes, slice);
      const job = jobCheck.ok(given)
        ? await fill(tenant, given, payload, own ?? whole)
        : invalid(jobCheck.errors(given, batch.faultsLeft));
      const error = "status" in job ? job : refusal(tenant, job, payload, firesAfter(own ?? whole, runtime), deps);
      if (error !== null) batch.refuse(index, error);
      else
        batch.add(
          index,
          { job: job as JobSubmission, payload, traceparent, text: bytes.subarray(slice.start, slice.end) },
          own,
        );
      index++;
    }
  }
  batch.refuseIfHopeless();
  return batch;
}

/** Idempotency of a job with its own key: the same as for a request with the same bytes. */
function ownIdempotency(tenant: Tenant, key: string | null, bytes: Buffer, { start, end }: JobSlice): Idempotency {
  if (key === null) return null;
  const requestHash = createHash("sha256")
    .update(hashedLine("/v1/jobs"))
    .update(bytes.subarray(start, end))
    .digest("hex");
  return { tenant, key, requestHash };
}
