import type { JobRequest } from "../client/api-types.ts";
import type { RecurringJobRequest } from "../client/recurring-types.ts";
import { MainspringError } from "../errors.ts";
import { activeTraceparent } from "../tracing.ts";
import {
  literalsIn,
  type SqlStatement,
  type SubmitInOptions,
  type SubmitManyInOptions,
  submitBatchStatement,
  submitStatement,
} from "./statements.ts";

/** A client of `pg` in a transaction: from `pool.connect()` or `new Client()`. */
export interface PgTransaction {
  query(text: string, values: unknown[]): Promise<{ rows: unknown[] }>;
}

/** The transaction that Drizzle gives to `db.transaction(async (tx) => …)` on PostgreSQL. */
export interface DrizzleTransaction {
  execute(query: string): PromiseLike<unknown>;
}

/** The transaction that Prisma gives to `prisma.$transaction(async (tx) => …)`. */
export interface PrismaTransaction {
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** The transaction that Kysely gives to `db.transaction().execute(async (trx) => …)`. */
export interface KyselyTransaction {
  executeQuery(query: never): Promise<{ rows: unknown[] }>;
}

/** A transaction of one of the libraries on PostgreSQL. Outside a transaction, the call is a transaction of its own. */
export type SqlTransaction = PgTransaction | DrizzleTransaction | PrismaTransaction | KyselyTransaction;

type AnyRequest = JobRequest | RecurringJobRequest;

/**
 * Submits a job in the caller's transaction: a server takes the job in once the transaction has committed, and nothing is left
 * of it if the transaction is rolled back. The server checks the job then; `client.requests.get` tells whether it was refused.
 * @param job a request, or `task.job(payload, options)`, which checks the payload first
 * @returns id of the request (UUIDv7), which is also the id of a new job that runs once
 * @throws {MainspringError} BAD_OPTION: the transaction is of no known library
 * @throws the library's error: the job is too large, or the role may not execute the function
 */
export async function submitIn(
  tx: SqlTransaction,
  job: AnyRequest | Promise<AnyRequest>,
  options: SubmitInOptions = {},
): Promise<string> {
  const { traceparent = activeTraceparent() } = options;
  const statement = submitStatement(await job, { ...options, ...(traceparent !== undefined && { traceparent }) });
  const [row] = await rowsOf(tx, statement);
  return (row as { id: string }).id;
}

/**
 * Submits up to 10,000 jobs, 32 MiB together, in the caller's transaction by one statement.
 * @returns ids of the requests, in the order of the jobs
 * @throws as `submitIn`
 */
export async function submitManyIn(
  tx: SqlTransaction,
  jobs: readonly (AnyRequest | Promise<AnyRequest>)[],
  options: SubmitManyInOptions = {},
): Promise<string[]> {
  const { traceparent = activeTraceparent() } = options;
  const all = { ...options, ...(traceparent !== undefined && { traceparent }) };
  const rows = await rowsOf(tx, submitBatchStatement(await Promise.all(jobs), all));
  return rows.map((row) => (row as { id: string }).id);
}

async function rowsOf(tx: SqlTransaction, statement: SqlStatement): Promise<readonly unknown[]> {
  const { text, values } = statement;
  if (has(tx, "$queryRawUnsafe")) return rowsIn(await tx.$queryRawUnsafe(text, ...values));
  if (has(tx, "executeQuery")) return rowsIn(await tx.executeQuery(compiled(statement) as never));
  // Drizzle has no public way to give values apart from the text without importing it.
  if (has(tx, "execute")) return rowsIn(await tx.execute(literalsIn(statement)));
  if (has(tx, "query")) return rowsIn(await tx.query(text, [...values]));
  const message = "submitIn needs a transaction of pg, Drizzle, Prisma or Kysely on PostgreSQL";
  throw new MainspringError("BAD_OPTION", message);
}

function has<Name extends string>(tx: object, name: Name): tx is Extract<SqlTransaction, Record<Name, unknown>> {
  return typeof (tx as Record<string, unknown>)[name] === "function";
}

/** Rows of an answer: a list, or an object that has one. */
function rowsIn(answer: unknown): readonly unknown[] {
  return Array.isArray(answer) ? answer : (answer as { rows: unknown[] }).rows;
}

/** A query that Kysely runs as it is: its `CompiledQuery`. */
function compiled({ text, values }: SqlStatement) {
  const query = { kind: "RawNode", sqlFragments: [text], parameters: [] };
  return { query, queryId: { queryId: "mainspring_submit" }, sql: text, parameters: values };
}
