/** Events of requests that applications write in transactions of their own. */
export type RequestEvent =
  /**
   * The function has answered, in a transaction that is still open. `key`: key of the job. `isWrong`: a server must refuse
   * the job; such a key has no other events.
   */
  | { event: "REQUEST_WRITTEN"; at: number; key: string; requestId: string; isWrong: boolean }
  /** The store has answered the commit. Without this event and the next one, nobody knows the end of the transaction. */
  | { event: "REQUEST_COMMITTED"; at: number; requestId: string }
  /** The transaction, or its savepoint, was rolled back. `isCutOff`: a fault ended it before its commit was sent. */
  | { event: "REQUEST_ROLLED_BACK"; at: number; requestId: string; isCutOff: boolean };
