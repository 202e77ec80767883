import type { Problem } from "./api-types.ts";

/** State of a request for a job. TAKEN_IN and REFUSED are final. */
export type RequestState = "ACCEPTED" | "TAKEN_IN" | "REFUSED";

/** A request for a job that came without the API, such as by `submitIn`, as lists show it. */
export interface JobRequestSummary {
  /** SQL: a UUID, and that of the job if the job is new and runs once. KAFKA: the position of the record, such as 12-34567. */
  requestId: string;
  /** SQL: `mainspring_submit` in a transaction of an application. KAFKA: a record in the topic of requests. */
  source: "SQL" | "KAFKA";
  /** ACCEPTED: a server will decide it. TAKEN_IN: its job is there. REFUSED: it will never become a job. */
  state: RequestState;
  /** null: a record of Kafka that is not decided. */
  createdAt: string | null;
  /** When a server decided it; null: it is ACCEPTED. */
  finishedAt: string | null;
  /** Job that the request has become; null: none. */
  jobId: string | null;
  /** First execution of the job; null: none, or the job recurs. */
  executionId: string | null;
  /** Whether another job has the unique key. The ids are those of that job. */
  deduplicated: boolean;
  idempotencyKey: string | null;
  /** Why the request was refused, as a submit by the API would have been; null: it is not REFUSED. */
  problem: Problem | null;
}

/** A request for a job. */
export interface JobRequestState extends JobRequestSummary {
  /** The job as it was submitted; null: the request is TAKEN_IN, and its job has it, or Kafka has it. */
  job: unknown;
}
