import pg from "pg";
import { UnstorableValue } from "../../../ports/storable.ts";
import { StoreUnavailable, StoreUnusable } from "../../../ports/store.ts";

/**
 * SQLSTATE classes of refused data: data exception, constraint violation, and limits such as an index row that is too
 * long.
 */
const DATA_CLASSES = ["22", "23", "54"];

/**
 * SQLSTATE classes of bugs of this program: syntax, unknown columns, internal errors. All other errors of PostgreSQL
 * (shutting down, out of disk or connections, deadlock, timeouts, read only after a failover) pass with time.
 */
const BUG_CLASSES = ["42", "0A", "26", "XX"];

/** SQLSTATE class of deadlocks and serialization failures. */
const CONFLICT_CLASS = "40";

/**
 * SQLSTATE check_violation. The schema has no checks except those of partitions, so the month of an id has no
 * partition, or its partition was dropped. The data is not at fault; the store lacks maintenance.
 */
const NO_PARTITION = "23514";

/** Whether a statement was refused for its data, so that a retry would be refused too. */
export function isDataError(error: unknown): error is Error {
  if (error instanceof UnstorableValue) return true;
  return error instanceof pg.DatabaseError && DATA_CLASSES.includes(errorClass(error)) && error.code !== NO_PARTITION;
}

/** Whether PostgreSQL refused a statement and the connection is still usable. */
export function isRefusal(error: unknown): boolean {
  if (isDataError(error)) return true;
  return error instanceof pg.DatabaseError && (errorClass(error) === CONFLICT_CLASS || error.code === NO_PARTITION);
}

/** Whether the statement named an id of a month without a partition, and so changed nothing. */
export function isMissingMonth(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable && error.cause instanceof pg.DatabaseError && error.cause.code === NO_PARTITION
  );
}

/** SQLSTATEs of refused writes: out of disk or memory, a failed input or output, and a read-only server. */
const WRITE_REFUSALS = ["53100", "53200", "58030", "25006"];

/** Whether PostgreSQL answers but accepts no writes. */
export function isWriteRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && WRITE_REFUSALS.includes(error.code ?? "");
}

/** Whether a statement hit `lock_timeout` (lock_not_available): another session used the table for longer. */
export function isLockTimeout(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && error.code === "55P03";
}

/** Whether two transactions conflicted; neither was applied, and a retry is right. */
export function isConflict(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable &&
    error.cause instanceof pg.DatabaseError &&
    errorClass(error.cause) === CONFLICT_CLASS
  );
}

/** Converts an error of the client library or the server into an error for callers. */
export function storeError(error: unknown): unknown {
  if (error instanceof StoreUnavailable || error instanceof StoreUnusable) return error;
  if (isDataError(error)) return error;
  if (error instanceof pg.DatabaseError && BUG_CLASSES.includes(errorClass(error))) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreUnavailable(`PostgreSQL did not answer: ${message}`, { cause: error });
}

/** SQLSTATE query_canceled; here the cause is `statement_timeout`. */
const CANCELED = "57014";
/** pg's message when every connection of a pool is in use. */
const NO_FREE_CONNECTION = "timeout exceeded when trying to connect";

/**
 * @param waited whether the list got no connection at all @returns error for the caller; null: the error is no timeout
 */
export function listTimeout(error: unknown, waited: boolean): StoreUnavailable | null {
  if (waited && error instanceof Error && error.message === NO_FREE_CONNECTION) {
    return new StoreUnavailable("Other lists kept all connections for lists", { cause: error, isListTimeout: true });
  }
  if (!(error instanceof pg.DatabaseError) || error.code !== CANCELED) return null;
  return new StoreUnavailable("PostgreSQL ended a list that took too long", { cause: error, isListTimeout: true });
}

function errorClass(error: pg.DatabaseError): string {
  return (error.code ?? "").slice(0, 2);
}
