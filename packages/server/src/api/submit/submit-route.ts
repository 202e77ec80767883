import { AcceptedBody, DeduplicatedBody, IdempotencyKey, JobSubmission, SubmittedBody } from "@mainspring/contract";
import { PAYLOAD_BYTES_MAX, SINGLE_BODY_BYTES_MAX } from "@mainspring/contract/limits";
import { Type } from "typebox";
import type { EpochMs } from "../../domain/ids.ts";
import { DEFAULT_POOL } from "../../domain/job.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import type { Runtime } from "../../ports/runtime.ts";
import type { JobHandlers } from "../handlers/job-handlers.ts";
import type { ReceivedBody } from "../http/body/body-reader.ts";
import { JobParts } from "../http/body/json-parts.ts";
import type { Slice } from "../http/body/json-scanner.ts";
import { answer, problems } from "../http/documented.ts";
import { invalid, type Problem, ProblemError, problem } from "../http/errors.ts";
import type { HttpApp } from "../http/http-app.ts";
import { tenantOfCaller } from "../http/security.ts";
import type { PoolNames } from "../pools/pool-names.ts";
import type { Load, Quotas } from "../quotas/quotas.ts";
import type { JobAcceptor } from "../requests/job-acceptor.ts";
import { onFinishFaults, type WebhookRules } from "../webhooks/webhook-rules.ts";
import { contradictions } from "./job-definition.ts";
import { type Idempotency, idempotencyOf, type JobIntake, type ReceivedJob, type TakenJobs } from "./job-intake.ts";

export const IdempotencyHeaders = Type.Object({
  "idempotency-key": Type.Optional(IdempotencyKey),
});

const TRACEPARENT =
  "the W3C trace context of the caller's span: the executions are parts of its trace. Any other value is ignored";

/** Header of a request whose jobs are in the trace of its caller. */
export const TraceHeaders = { traceparent: Type.Optional(Type.String({ description: TRACEPARENT })) };

export const SubmitHeaders = Type.Object({ ...IdempotencyHeaders.properties, ...TraceHeaders });

/** Dependencies of the checks of a job. */
export interface SubmitRules {
  pools: PoolNames;
  /** Left out: the server sends no webhooks. */
  webhooks?: WebhookRules | undefined;
}

/** Dependencies of the routes that accept jobs. */
export interface SubmitDependencies extends SubmitRules {
  intake: JobIntake;
  runtime: Runtime;
  handlers: JobHandlers;
  /** Way of a tenant's jobs through the log of requests; null: there is none. */
  acceptorOf: (tenant: Tenant) => JobAcceptor | null;
  /** Left out: no tenant has a quota. */
  quotas?: Quotas | undefined;
}

/** Problems of a submit beside those of every route. */
export const SUBMIT_PROBLEMS = [
  "payload-too-large",
  "unsupported-media-type",
  "idempotency-key-reused",
  "name-in-use",
  "wrong-state",
  "tenant-suspended",
  "pool-not-allowed",
  "quota-exceeded",
  "quota-never-fits",
] as const;

/** POST /v1/jobs */
export function submitRoute(app: HttpApp, deps: SubmitDependencies): void {
  const { intake, runtime, handlers, acceptorOf, quotas } = deps;
  const schema = {
    operationId: "submitJob",
    tags: ["jobs"],
    summary: "Submit a job: now, at an instant, after a delay, by a cron expression, or at an interval",
    headers: SubmitHeaders,
    body: JobSubmission,
    response: {
      200: answer(DeduplicatedBody, "The unique key is held: these are the ids that hold it. Nothing was written."),
      201: answer(SubmittedBody, "Taken. A repeat by Idempotency-Key has the header Idempotent-Replayed: true."),
      202: answer(AcceptedBody, "Accepted: the job is durable in Kafka. The header Location names the request."),
      ...problems(...SUBMIT_PROBLEMS),
    },
  };
  app.post(
    "/v1/jobs",
    { schema, bodyLimit: SINGLE_BODY_BYTES_MAX, config: { scope: "jobs:submit" } },
    async (request, reply) => {
      const tenant = tenantOfCaller(request);
      const acceptor = acceptorOf(tenant);
      const payload = payloadOf(request.received);
      const idempotency = idempotencyOf(tenant, request.headers["idempotency-key"], request.received);
      const isRepeat = (key: Idempotency) => intake.wasAnswered(key);
      const fill = await (acceptor ?? handlers).filler(isRepeat);
      const job = await fill(tenant, request.body, payload, idempotency);
      const wrong = "status" in job ? job : refusal(tenant, job, payload, firesAfter(idempotency, runtime), deps);
      if ("status" in job || wrong !== null) throw new ProblemError(wrong as Problem);
      const taken = { job, payload, traceparent: request.headers.traceparent };
      const accept = async () => {
        const text = (request.received as ReceivedBody).bytes;
        const body = await (acceptor as JobAcceptor).accept(tenant, { ...taken, text }, idempotency);
        return reply.code(202).header("location", `/v1/requests/${body.request}`).send(body);
      };
      if (acceptor?.takesAll) {
        quotas?.requireFit(tenant, receivedLoad([taken], 0));
        return await accept();
      }
      const asked = Promise.all([
        intake.take(tenant, [taken], idempotency, request.submitNote),
        handlers.warnings(tenant, job),
      ]);
      const answered = await asked.catch((error: unknown) => {
        if (acceptor?.takesAfter(error)) return null;
        throw error;
      });
      if (answered === null) return await accept();
      const [{ replayed, bodies }, { warnings = [] }] = answered;
      const body = bodies[0] as TakenJobs["bodies"][number];
      if ("error" in body) throw new ProblemError(body.error);
      if (replayed) void reply.header("idempotent-replayed", "true");
      if ("deduplicated" in body) return reply.code(200).send(body);
      return reply.code(201).send(withWarnings(body, warnings));
    },
  );
}

/** Size of received jobs. @param bodyBytes see Load */
export function receivedLoad(received: readonly Pick<ReceivedJob, "job" | "payload">[], bodyBytes: number): Load {
  const recurring = received.filter(({ job }) => job.schedule !== undefined || job.everySec !== undefined).length;
  const payloadBytes = received.reduce((most, { payload }) => Math.max(most, payload?.length ?? 0), 0);
  const jobs = received.length;
  return { jobs, waiting: jobs - recurring, recurring, payloadBytes, bodyBytes };
}

/** The answer with further warnings. */
function withWarnings<B extends { warnings?: string[] }>(body: B, warnings: readonly string[]): B {
  return warnings.length === 0 ? body : { ...body, warnings: [...(body.warnings ?? []), ...warnings] };
}

/** After when a recurring job has to fire to be taken. A repeat by key is judged as the first request was. */
export function firesAfter(idempotency: Idempotency, runtime: Runtime): EpochMs {
  return idempotency === null ? runtime.now() : 0;
}

/** Fault of a job that meets its schema; null: none. @param after a recurring job has to fire after it */
export function refusal(
  tenant: Tenant,
  job: JobSubmission,
  payload: Uint8Array | null,
  after: EpochMs,
  { pools, webhooks }: SubmitRules,
): Problem | null {
  if (payload !== null && payload.length > PAYLOAD_BYTES_MAX) {
    const message = `has ${payload.length} bytes: at most ${PAYLOAD_BYTES_MAX} (1 MiB) are taken`;
    return problem("payload-too-large", `payload ${message}`, [{ field: "payload", message }]);
  }
  const errors = [...contradictions(job, after), ...onFinishFaults(job, webhooks)];
  return errors.length === 0 ? pools.use(tenant, job.target.pool ?? DEFAULT_POOL) : invalid(errors);
}

/** The bytes of the payload of a job that was received; null: it has none. */
export function payloadOf(received: ReceivedBody | null): Uint8Array | null {
  return received?.parts instanceof JobParts ? bytesOf(received.bytes, received.parts.payload) : null;
}

export function bytesOf(body: Buffer, slice: Slice | null): Uint8Array | null {
  return slice === null ? null : body.subarray(slice.start, slice.end);
}
