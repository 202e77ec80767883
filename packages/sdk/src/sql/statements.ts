import type { JobRequest } from "../client/api-types.ts";
import type { RecurringJobRequest } from "../client/recurring-types.ts";

export interface SubmitInOptions {
  /** As for `client.submit`; default: none. */
  idempotencyKey?: string;
  /** As for `client.submit`; default: that of the active span. */
  traceparent?: string;
  /** Schema of the store, as MAINSPRING_STORE_SCHEMA names it; default: `mainspring`. */
  schema?: string;
}

export interface SubmitManyInOptions extends Omit<SubmitInOptions, "idempotencyKey"> {
  /** Key of each job, in order; null: none. Default: no job has one. */
  idempotencyKeys?: readonly (string | null)[];
}

/** A statement with the parameters $1, $2 …, all of them texts or null. */
export interface SqlStatement {
  text: string;
  values: readonly (string | null)[];
}

/** The statement of `submitIn`, for other libraries. Its answer is one row with the column `id`. */
export function submitStatement(job: JobRequest | RecurringJobRequest, options: SubmitInOptions = {}): SqlStatement {
  const { idempotencyKey = null, traceparent = null, schema } = options;
  return {
    text: `SELECT ${inSchema(schema)}mainspring_submit($1::jsonb, $2::text, $3::text)::text AS id`,
    values: [JSON.stringify(job), idempotencyKey, traceparent],
  };
}

/** The statement of `submitManyIn`, for other libraries. Its answer has a row with the column `id` for each job, in order. */
export function submitBatchStatement(
  jobs: readonly (JobRequest | RecurringJobRequest)[],
  options: SubmitManyInOptions = {},
): SqlStatement {
  const { idempotencyKeys, traceparent = null, schema } = options;
  const keys =
    "(SELECT array_agg(k ORDER BY n) FROM jsonb_array_elements_text($2::jsonb) WITH ORDINALITY AS keys (k, n))";
  return {
    text: `SELECT id::text AS id FROM unnest(${inSchema(schema)}mainspring_submit_batch($1::jsonb, ${keys}, $3::text)) AS id`,
    values: [JSON.stringify(jobs), idempotencyKeys === undefined ? null : JSON.stringify(idempotencyKeys), traceparent],
  };
}

/** The statement with its values in the text, each as hexadecimal digits, so that no setting gives them another meaning. */
export function literalsIn({ text, values }: SqlStatement): string {
  return text.replaceAll(/\$(\d)/g, (_, place: string) => {
    const value = values[Number(place) - 1] ?? null;
    if (value === null) return "NULL";
    return `convert_from(decode('${Buffer.from(value).toString("hex")}', 'hex'), 'UTF8')`;
  });
}

function inSchema(schema = "mainspring"): string {
  return `"${schema.replaceAll('"', '""')}".`;
}
