import pg from "pg";
import { StoreUnavailable, StoreUnusable } from "../../../ports/store.ts";

/** A value that no statement can carry into its column. Treated like PostgreSQL's own refusals of data. */
export class UnstorableValue extends Error {
  override readonly name = "UnstorableValue";
}

/** Data exception, constraint violation, and limits such as an index row that is too long. */
const DATA_CLASSES = ["22", "23", "54"];

/**
 * The program's own mistakes: syntax, unknown columns, internal errors. Everything else that PostgreSQL may say (shutting
 * down, out of disk or connections, deadlock, timeouts, read only after a failover) passes with time.
 */
const BUG_CLASSES = ["42", "0A", "26", "XX"];

/** Deadlocks and serialization failures. */
const CONFLICT_CLASS = "40";

/**
 * check_violation. There are no checks but those of partitions: the month of an id has not been made, or was dropped. That
 * is no fault of the data; the store is not being maintained.
 */
const NO_PARTITION = "23514";

/** Whether the statement was refused for what it carried, and would be refused again. */
export function isDataError(error: unknown): error is Error {
  if (error instanceof UnstorableValue) return true;
  return error instanceof pg.DatabaseError && DATA_CLASSES.includes(errorClass(error)) && error.code !== NO_PARTITION;
}

/** Whether PostgreSQL refused a statement, and its connection is as good as before. */
export function isRefusal(error: unknown): boolean {
  if (isDataError(error)) return true;
  return error instanceof pg.DatabaseError && (errorClass(error) === CONFLICT_CLASS || error.code === NO_PARTITION);
}

/** The statement named an id of a month that has no partition, and did nothing. */
export function isMissingMonth(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable && error.cause instanceof pg.DatabaseError && error.cause.code === NO_PARTITION
  );
}

/** Out of disk or memory, an input or output that failed, and a server that is read-only. */
const WRITE_REFUSALS = ["53100", "53200", "58030", "25006"];

/** PostgreSQL answers, but takes no writes. */
export function isWriteRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && WRITE_REFUSALS.includes(error.code ?? "");
}

/** lock_not_available: somebody else has used the table for longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): error is Error {
  return error instanceof pg.DatabaseError && error.code === "55P03";
}

/** Two transactions stood in each other's way; neither was applied, and trying again is right. */
export function isConflict(error: unknown): boolean {
  return (
    error instanceof StoreUnavailable &&
    error.cause instanceof pg.DatabaseError &&
    errorClass(error.cause) === CONFLICT_CLASS
  );
}

/** Error for callers, in place of an error of the client library or the server. */
export function storeError(error: unknown): unknown {
  if (error instanceof StoreUnavailable || error instanceof StoreUnusable) return error;
  if (isDataError(error)) return error;
  if (error instanceof pg.DatabaseError && BUG_CLASSES.includes(errorClass(error))) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new StoreUnavailable(`PostgreSQL did not answer: ${message}`, { cause: error });
}

/** query_canceled: here, by `statement_timeout`. */
const CANCELED = "57014";
/** pg's words where every connection of a pool is in use. */
const NO_FREE_CONNECTION = "timeout exceeded when trying to connect";

/** @param waited whether the list got no connection at all @returns null: the error is no matter of time */
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
