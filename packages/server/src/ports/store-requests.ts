import type { EpochMs, ExecutionId, JobId } from "../domain/ids.ts";
import type { RequestState } from "../domain/request.ts";
import type { Submission, SubmitOutcome } from "./store.ts";
import type { AuditNote } from "./store-audit.ts";

/**
 * Requests for jobs that were written into the store without the api, such as by `mainspring_submit` in a transaction of an
 * application. A node takes them in.
 */
export interface StoreRequests {
  /**
   * Takes in the oldest requests that are ACCEPTED and that no other call is taking in: has each of them decided, and writes the
   * jobs together with the ends of the requests, all or nothing. After an outage, each request is still ACCEPTED or has its end.
   * @param judge may be asked several times about the same request
   * @throws {StoreUnavailable} the store does not answer, or the judge has failed; then nothing was written
   */
  takeIn(limits: TakeInLimits, judge: RequestJudge): Promise<TakenRequest[]>;
  /** @param tell called when there may be new requests. A notice may be lost, and each node gets one */
  watch(tell: () => void): void;
  /** null: there is no such request, or it is no longer kept. */
  get(tenant: string, id: RequestId): Promise<JobRequest | null>;
  /** Requests in order of their ids, newest first, older than `before`. */
  list(tenant: string, page: RequestQuery): Promise<RequestSummary[]>;
}

/** UUIDv7, made when the request was written. A job that runs once gets the id of its request. */
export type RequestId = string;

/** Days for which requests are kept after they were taken in. REFUSED ones are kept as long as executions. */
export const REQUESTS_KEPT_DAYS = 1;

export interface TakeInLimits {
  /** Largest number of requests; 1 to 10_000. */
  count: number;
  /** Largest total of their bodies, in bytes. A larger request is taken in alone. */
  bytes: number;
}

/** A request that is not decided. */
export interface OpenRequest {
  id: RequestId;
  tenant: string;
  createdAt: EpochMs;
  /** JSON text of the job, as POST /v1/jobs takes it; bytes of any other content are refused. */
  body: string | Uint8Array;
  idempotencyKey: string | null;
  traceparent: string | null;
  /** Whether the job has the id of the request however old that is; left out: only for a day. */
  keepsId?: boolean;
}

/** Decides requests, without changing the store. */
export interface RequestJudge {
  /**
   * A submission has one job.
   * @returns one decision per request, in order; for records of a log there may be fewer: the others wait for a quota
   */
  decide(requests: readonly OpenRequest[]): Promise<(Submission | RequestEnd)[]>;
  /** End of a request whose submission has this outcome. */
  conclude(outcome: SubmitOutcome): RequestEnd;
  /** Facts for the audit log about submissions of one transaction, in which they are recorded; left out: there are none. */
  notesOf?(submissions: readonly Submission[]): AuditNote[];
}

export type RequestEnd =
  | {
      state: "TAKEN_IN";
      jobId: JobId;
      /** First execution; null: a recurring job. */
      executionId: ExecutionId | null;
      /** Whether another job has the unique key; its ids are given. */
      deduplicated: boolean;
    }
  /** @param problem JSON text of the problem, as the api would have answered */
  | { state: "REFUSED"; problem: string };

/** A request that this call has decided, with what was written. */
export interface TakenRequest {
  id: RequestId;
  end: RequestEnd;
  /** null: nothing was submitted. */
  submitted: { submission: Submission; outcome: SubmitOutcome } | null;
}

export interface RequestSummary {
  id: RequestId;
  createdAt: EpochMs;
  /** null: the request is ACCEPTED. */
  finishedAt: EpochMs | null;
  /** null: the request is ACCEPTED. */
  end: RequestEnd | null;
  idempotencyKey: string | null;
}

export interface JobRequest extends RequestSummary {
  /** JSON text of the job; null: the request is TAKEN_IN, and its job has it. */
  body: string | null;
}

export interface RequestQuery {
  /** null: all. */
  state: RequestState | null;
  before: RequestId | null;
  limit: number;
}
