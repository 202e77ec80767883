/** Events of jobs that the server accepts as records of Kafka, before it takes them in. */
export type RecordEvent =
  /**
   * The server answered 202 and named the position of the record. `isWrong`: the record repeats the idempotency key of another job, so
   * the server must refuse it when it takes it in.
   */
  { event: "RECORD_ACCEPTED"; at: number; key: string; position: string; isWrong: boolean };
