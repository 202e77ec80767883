/** Submits jobs in transactions of the application, on the PostgreSQL that it shares with Mainspring. */
export {
  type SqlStatement,
  type SubmitInOptions,
  type SubmitManyInOptions,
  submitBatchStatement,
  submitStatement,
} from "./statements.ts";
export {
  type DrizzleTransaction,
  type KyselyTransaction,
  type PgTransaction,
  type PrismaTransaction,
  type SqlTransaction,
  submitIn,
  submitManyIn,
} from "./submit-in.ts";
