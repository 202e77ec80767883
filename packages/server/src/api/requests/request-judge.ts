import { JobSubmission } from "@mainspring/contract";
import { SINGLE_BODY_BYTES_MAX } from "@mainspring/contract/limits";
import type { Logger } from "pino";
import type { EpochMs, JobId } from "../../domain/ids.ts";
import type { Ordering } from "../../domain/rank.ts";
import { tracedDefinition } from "../../domain/trace.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import { StoreUnavailable, type Submission, type SubmitOutcome } from "../../ports/store.ts";
import type { AuditNote } from "../../ports/store-audit.ts";
import type { OpenRequest, RequestEnd, RequestJudge, TakenRequest } from "../../ports/store-requests.ts";
import type { AnyJob } from "../../ports/store-runs.ts";
import { tenantOf } from "../../security/tenant.ts";
import type { JobHandlers } from "../handlers/job-handlers.ts";
import { BodyReader, hashedLine, type ReceivedBody, tooLarge } from "../http/body/body-reader.ts";
import { JobParts } from "../http/body/json-parts.ts";
import { problemError } from "../http/error-answers.ts";
import { invalid, type Problem, ProblemError, problem } from "../http/errors.ts";
import { compileCheck } from "../http/validation.ts";
import type { PoolOrderings } from "../pools/pool-orderings.ts";
import type { QuotaName, QuotaProblem } from "../quotas/quota-problems.ts";
import type { Charge, Quotas } from "../quotas/quotas.ts";
import { loadOf } from "../quotas/submit-under.ts";
import { jobDefinition } from "../submit/job-definition.ts";
import {
  type Idempotency,
  idempotencyOf,
  type JobIntake,
  nameInUse,
  neverFires,
  problemOf,
} from "../submit/job-intake.ts";
import { logWarnings } from "../submit/job-warnings.ts";
import { type JobMaker, jobRow } from "../submit/new-job.ts";
import { firesAfter, IdempotencyHeaders, payloadOf, refusal, type SubmitRules } from "../submit/submit-route.ts";

export interface RequestJudgeDependencies extends SubmitRules, Omit<JobMaker, "ownShards"> {
  intake: Pick<JobIntake, "turns" | "answered" | "wasAnswered">;
  handlers: Pick<JobHandlers, "filler">;
  orderings: Pick<PoolOrderings, "read">;
  log: Logger;
  /** Whether nothing of the tenant is taken; left out: everything is. */
  isStopped?: ((tenant: Tenant) => boolean) | undefined;
  /** Left out: no tenant has a quota. */
  quotas?: Quotas | undefined;
  /** Origin of the requests in the audit log, in which their jobs are recorded; left out: they are not recorded. */
  audited?: RequestSource | undefined;
  /** Whether requests over a quota that frees itself wait: they and all behind them get no decision. Left out: they are refused. */
  waitsForQuotas?: boolean;
}

/** SQL: an application has written them into the store. KAFKA: they were records of the topic of requests. */
type RequestSource = "SQL" | "KAFKA";

/** Quotas that become free by themselves. */
const PASSING: readonly string[] = ["submitsPerSec", "maxWaiting"] satisfies QuotaName[];

/**
 * Age of a request in ms up to which its job gets its id. The id says in which month the job is kept, and a job of a former month would
 * be removed too early.
 */
const ID_KEPT_MS = 86_400_000;

/** A request body is in memory already, so it needs no share of the budget for bodies. */
const NO_SHARE = { growTo: () => undefined, release: () => undefined };

/** Bytes of a body that are checked in one go. */
const PIECE_BYTES = 64 * 1024;

const jobCheck = compileCheck(JobSubmission);
const headersCheck = compileCheck(IdempotencyHeaders);

/** Policies, orderings and time that all decisions of one batch share. */
interface Rules {
  fill: Awaited<ReturnType<JobHandlers["filler"]>>;
  orderOf: (pool: string) => Ordering;
  createdAt: EpochMs;
}

/** Decides requests by the rules of POST /v1/jobs. */
export class JobRequestJudge implements RequestJudge {
  readonly #deps: RequestJudgeDependencies;
  /** Charges of submissions whose outcome is not known yet. */
  readonly #charges = new Map<Submission, Charge>();

  constructor(deps: RequestJudgeDependencies) {
    this.#deps = deps;
  }

  /**
   * Decides all requests, or the first ones where the next one waits for a quota.
   * @throws {StoreUnavailable}
   */
  async decide(requests: readonly OpenRequest[]): Promise<(Submission | RequestEnd)[]> {
    const { intake, handlers, orderings, runtime } = this.#deps;
    const [fill, orderOf] = await Promise.all([
      handlers.filler((idempotency) => intake.wasAnswered(idempotency)),
      orderings.read(),
    ]);
    const rules = { fill, orderOf, createdAt: runtime.now() };
    const decisions: (Submission | RequestEnd)[] = [];
    try {
      for (const request of requests) {
        if (intake.turns.isOver) await intake.turns.next();
        const decision = await this.#decideOne(request, rules);
        if (decision === null) break;
        decisions.push(decision);
      }
    } catch (error) {
      this.settle(decisions, []);
      throw error;
    }
    return decisions;
  }

  /**
   * Ends the charges of decisions, so that their places count once.
   * @param taken what the store has taken in; null: not known
   */
  settle(decisions: readonly (Submission | RequestEnd)[], taken: readonly TakenRequest[] | null): void {
    const written = new Set(taken?.flatMap(({ submitted }) => (isWritten(submitted) ? [submitted.submission] : [])));
    for (const decision of decisions) {
      const charge = "jobs" in decision ? this.#charges.get(decision) : undefined;
      if (charge === undefined || !("jobs" in decision)) continue;
      this.#charges.delete(decision);
      charge.end(taken === null ? "UNKNOWN" : written.has(decision) ? "WRITTEN" : "NOTHING");
    }
  }

  /** No refusal is thrown here: the store on Redis asks for both possible ones of every record. */
  conclude(outcome: SubmitOutcome): RequestEnd {
    if (outcome.kind !== "ACCEPTED") return refused(problemOf(outcome));
    const [job] = outcome.jobs;
    if (job === undefined) {
      const error = new Error("the store has answered a submission of one job with none");
      return refused(problemError(error, this.#deps.log).problem);
    }
    if (job.nameHeldBy !== undefined) return refused(nameInUse(job.nameHeldBy));
    const { jobId, executionId, deduplicated } = job;
    return { state: "TAKEN_IN", jobId, executionId, deduplicated };
  }

  /** One fact for each tenant of the submissions. */
  notesOf(submissions: readonly Submission[]): AuditNote[] {
    const { audited: source } = this.#deps;
    if (source === undefined) return [];
    const facts = new Map<string, { first: JobId; count: number }>();
    for (const { tenant, jobId } of submissions.flatMap(({ jobs }) => jobs)) {
      const fact = facts.get(tenant);
      if (fact === undefined) facts.set(tenant, { first: jobId, count: 1 });
      else fact.count++;
    }
    return Array.from(facts, ([tenant, { first, count }]) => ({
      ...{ tenant, actor: { kind: "SYSTEM", keyId: null, for: null }, action: "takeInRequests", target: first },
      ...{ outcome: "DONE", requestId: null, address: null, detail: { source, count } },
    }));
  }

  /**
   * A request whose decision fails is refused, so that it holds up no other.
   * @returns null: the request waits for a quota
   * @throws {StoreUnavailable}
   */
  async #decideOne(request: OpenRequest, rules: Rules): Promise<Submission | RequestEnd | null> {
    try {
      return await this.#judged(request, rules);
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      if (this.#deps.waitsForQuotas === true && isPassing(error)) return null;
      return refused(problemError(error, this.#deps.log).problem);
    }
  }

  /** @throws {ProblemError} the request is refused */
  async #judged(request: OpenRequest, { fill, orderOf, createdAt }: Rules): Promise<Submission | RequestEnd> {
    const tenant = tenantOf(request.tenant);
    if (this.#deps.isStopped?.(tenant)) throw new ProblemError(problem("tenant-suspended"));
    const received = await this.#received(request);
    const given = received.parts.valueOf(received.bytes);
    if (!jobCheck.ok(given)) throw new ProblemError(invalid(jobCheck.errors(given)));
    const idempotency = keyOf(request, received);
    const payload = payloadOf(received);
    const job = await fill(tenant, given, payload, idempotency);
    const wrong =
      "status" in job ? job : refusal(tenant, job, payload, firesAfter(idempotency, this.#deps.runtime), this.#deps);
    if ("status" in job || wrong !== null) throw new ProblemError(wrong as Problem);
    const row = this.#row(request, job, payload, orderOf, createdAt);
    if (row !== null) {
      const charge = await this.#charge(tenant, row, idempotency);
      const submission = { idempotency, jobs: [row] };
      if (charge !== null) this.#charges.set(submission, charge);
      return submission;
    }
    if (idempotency === null) throw new ProblemError(neverFires(job));
    return this.conclude(await this.#deps.intake.answered(idempotency, job));
  }

  /** Reads a body. A large one is read in pieces, because its check can take as long as many turns. @throws {ProblemError} it is refused */
  async #received({ body, idempotencyKey }: OpenRequest): Promise<ReceivedBody> {
    const { turns } = this.#deps.intake;
    const bytes = typeof body === "string" ? Buffer.from(body) : bufferOf(body);
    if (bytes.length > SINGLE_BODY_BYTES_MAX) throw tooLarge();
    const reader = bodyReader(idempotencyKey !== null);
    for (let from = 0; from === 0 || from < bytes.length; from += PIECE_BYTES) {
      if (from > 0 && turns.isOver) await turns.next();
      reader.take(bytes.subarray(from, from + PIECE_BYTES));
    }
    return reader.end();
  }

  /** Charges a job. @returns null: it costs nothing @throws {ProblemError} */
  async #charge(tenant: Tenant, row: AnyJob, idempotency: Idempotency): Promise<Charge | null> {
    const { quotas, intake } = this.#deps;
    if (quotas === undefined || !quotas.limits(tenant)) return null;
    try {
      return await quotas.charge(tenant, loadOf([row]));
    } catch (error) {
      if (!(error instanceof ProblemError) || !(await intake.wasAnswered(idempotency))) throw error;
      return null;
    }
  }

  #row(
    { id, tenant, createdAt: askedAt, traceparent, keepsId = false }: OpenRequest,
    job: JobSubmission,
    payload: Uint8Array | null,
    orderOf: Rules["orderOf"],
    createdAt: EpochMs,
  ) {
    // A delay counts from the request. A job that is due by now is due when it is taken in.
    const { scheduledAt, ...asked } = jobDefinition(job, askedAt);
    const definition = tracedDefinition(
      { ...asked, scheduledAt: Math.max(scheduledAt, createdAt) },
      traceparent ?? undefined,
    );
    logWarnings(definition, this.#deps.warnings);
    const ownId = keepsId || createdAt - askedAt < ID_KEPT_MS ? id : null;
    return jobRow(tenantOf(tenant), definition, payload, orderOf(definition.pool), createdAt, this.#deps, ownId);
  }
}

/** Whether an error says that a quota is used up that becomes free by itself. */
function isPassing(error: unknown): boolean {
  if (!(error instanceof ProblemError) || error.problem.status !== 429) return false;
  return PASSING.includes((error.problem as Partial<QuotaProblem>).quota ?? "");
}

function bodyReader(isHashed: boolean): BodyReader {
  return new BodyReader({
    limitBytes: SINGLE_BODY_BYTES_MAX,
    parts: new JobParts(),
    share: NO_SHARE,
    hashed: isHashed ? hashedLine("/v1/jobs") : null,
  });
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

/** @throws {ProblemError} the key is no key */
function keyOf({ tenant, idempotencyKey }: OpenRequest, received: ReceivedBody): Idempotency {
  if (idempotencyKey === null) return null;
  const headers = { "idempotency-key": idempotencyKey };
  if (!headersCheck.ok(headers)) throw new ProblemError(invalid(headersCheck.errors(headers)));
  return idempotencyOf(tenantOf(tenant), idempotencyKey, received);
}

function isWritten(submitted: TakenRequest["submitted"]): submitted is NonNullable<TakenRequest["submitted"]> {
  return submitted?.outcome.kind === "ACCEPTED" && !submitted.outcome.replayed;
}

function refused(problem: Problem): RequestEnd {
  return { state: "REFUSED", problem: JSON.stringify(problem) };
}
