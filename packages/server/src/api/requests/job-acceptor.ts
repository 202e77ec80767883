import type { AcceptedBody, JobSubmission } from "@mainspring/contract";
import { partitionOfShard, positionText } from "../../domain/ingest.ts";
import { defaultPool } from "../../domain/pool.ts";
import type { Tenant } from "../../ports/authenticator.ts";
import { JSON_TYPE, LOG_HEADERS } from "../../ports/request-log.ts";
import { StoreUnavailable } from "../../ports/store.ts";
import type { Lacking } from "../feature-gate.ts";
import { filledIn } from "../handlers/fill-in.ts";
import type { Fill, JobHandlers } from "../handlers/job-handlers.ts";
import { ProblemError } from "../http/errors.ts";
import { jobDefinition } from "../submit/job-definition.ts";
import { type Idempotency, neverFires, type ReceivedJob } from "../submit/job-intake.ts";
import { logWarnings } from "../submit/job-warnings.ts";
import { type JobMaker, jobRow, newRequestId } from "../submit/new-job.ts";
import type { RequestSender } from "./request-sender.ts";

export interface JobAcceptorDependencies extends JobMaker {
  sender: Pick<RequestSender, "send" | "partitions">;
  handlers: Pick<JobHandlers, "filler" | "latest" | "poolOf">;
  /** Whether all submits go through the log of requests, or only those that the store did not get. */
  mode: "fallback" | "kafka";
}

/** A received job, with its JSON text. */
export type AcceptableJob = ReceivedJob & { text: Uint8Array };

/** Accepts jobs by writing them into the log of requests. It asks the store nothing. */
export class JobAcceptor {
  readonly #deps: JobAcceptorDependencies;

  constructor(deps: JobAcceptorDependencies) {
    this.#deps = deps;
  }

  /** Whether all submits go through the log now. While a living node would not take records in, none does. */
  get takesAll(): boolean {
    return this.#deps.mode === "kafka" && this.#isOn;
  }

  /** Whether a submit that failed with this error goes through the log: the store has nothing of it. */
  takesAfter(error: unknown): boolean {
    return error instanceof StoreUnavailable && error.isUnasked && this.#isOn;
  }

  /**
   * Fills in what jobs leave out, as far as policies are known here; the intake does it again.
   * @throws {StoreUnavailable} never while all submits go through the log
   */
  async filler(isRepeat: Parameters<JobHandlers["filler"]>[0]): Promise<Fill> {
    if (!this.takesAll) {
      try {
        return await this.#deps.handlers.filler(isRepeat);
      } catch (error) {
        if (!(error instanceof StoreUnavailable) || !this.#isOn) throw error;
      }
    }
    const book = this.#deps.handlers.latest();
    const { poolOf } = this.#deps.handlers;
    return async (tenant, job, payload, idempotency = null) => {
      const filled = filledIn(job, payload, book, { tenant, poolOf });
      // A repeat of a job that was taken in is answered by the first one, whatever the policies are now.
      return "status" in filled && idempotency !== null ? job : filled;
    };
  }

  /**
   * Writes a job, which was checked, into the log.
   * @throws {ProblemError} the job is refused
   * @throws {RequestNotSent}
   */
  async accept(
    tenant: Tenant,
    { job, payload, text, traceparent }: AcceptableJob,
    idempotency: Idempotency,
  ): Promise<AcceptedBody> {
    const { sender } = this.#deps;
    const partitions = await sender.partitions();
    const { id, jobId, executionId, shard, createdAt } = this.#rowOf(tenant, job, payload, idempotency);
    const headers = {
      [LOG_HEADERS.contentType]: JSON_TYPE,
      [LOG_HEADERS.jobId]: id,
      ...(idempotency !== null && { [LOG_HEADERS.idempotencyKey]: idempotency.key }),
      ...(traceparent !== undefined && { [LOG_HEADERS.traceparent]: traceparent }),
    };
    const partition = partitionOfShard(shard, partitions);
    const position = await sender.send({ partition, value: text, headers, at: createdAt });
    return { jobId, ...(executionId !== null && { executionId }), request: positionText(position) };
  }

  get #isOn(): boolean {
    const lacking: Lacking | undefined = this.#deps.lacking;
    return (lacking?.("INGEST") ?? null) === null;
  }

  #rowOf(tenant: Tenant, job: JobSubmission, payload: Uint8Array | null, idempotency: Idempotency) {
    const createdAt = this.#deps.runtime.now();
    const definition = jobDefinition(job, createdAt);
    logWarnings(definition, this.#deps.warnings);
    const id = newRequestId(definition, createdAt, this.#deps);
    // The row goes nowhere: the intake makes another one, with the ordering of the pool at its time.
    const row = jobRow(tenant, definition, payload, defaultPool(definition.pool), createdAt, this.#deps, id);
    if (row !== null) return { ...row, id, createdAt };
    if (idempotency === null) throw new ProblemError(neverFires(job));
    return { id, jobId: id, executionId: null, shard: 0, createdAt };
  }
}
