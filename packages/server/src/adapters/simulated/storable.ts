import type { Birth, NewJob, NewRecurringJob, RowChange, Submission } from "@mainspring/server/testing";

/**
 * Values that the columns of the real store cannot hold. A simulated store that took everything would hide what the others do
 * with a refusal.
 */
type Column = "bits16" | "bits32" | "bits53" | "finite" | "text";

const FITS: Readonly<Record<Column, (value: never) => boolean>> = {
  bits16: (value: number) => (value << 16) >> 16 === value,
  bits32: (value: number) => (value | 0) === value,
  bits53: (value: number) => Number.isSafeInteger(value),
  finite: (value: number) => Number.isFinite(value),
  text: (value: string) => !value.includes("\u0000"),
};

type Columns<R> = readonly (readonly [keyof R & string, Column])[];

const JOB: Columns<NewJob> = [
  ["tenant", "text"],
  ["shard", "bits16"],
  ["rank", "finite"],
  ["laneHash", "bits53"],
  ["createdAt", "bits53"],
];

const RECURRING_JOB: Columns<NewRecurringJob> = [
  ["tenant", "text"],
  ["shard", "bits16"],
  ["createdAt", "bits53"],
  ["firstFireAt", "bits53"],
  ["tzdata", "text"],
];

const BORN: Columns<Birth["row"]> = [
  ["tenant", "text"],
  ["pool", "text"],
  ["handler", "text"],
  ["concurrencyKey", "text"],
  ["concurrencyLimit", "bits32"],
  ["priority", "bits16"],
  ["rank", "finite"],
  ["dueAt", "bits53"],
  ["scheduledAt", "bits53"],
  ["jobVersion", "bits32"],
  ["payloadBytes", "bits32"],
];

const BIRTH: Columns<Birth> = [
  ["laneHash", "bits53"],
  ["uniqueKey", "text"],
  ["createdAt", "bits53"],
];

const DEFINITION: Columns<NewJob["definition"]> = [
  ["name", "text"],
  ["pool", "text"],
  ["handler", "text"],
  ["priority", "bits16"],
  ["scheduledAt", "bits53"],
  ["concurrencyKey", "text"],
  ["concurrencyLimit", "bits32"],
  ["uniqueKey", "text"],
];

const CHANGE: Columns<RowChange> = [
  ["wasAttempt", "bits32"],
  ["attempt", "bits32"],
  ["failures", "bits32"],
  ["lost", "bits32"],
  ["rank", "finite"],
  ["dueAt", "bits53"],
  ["reason", "text"],
  ["workerId", "text"],
  ["gateway", "text"],
  ["attemptStartedAt", "bits53"],
  ["startedAt", "bits53"],
  ["finishedAt", "bits53"],
];

const IDEMPOTENCY: Columns<NonNullable<Submission["idempotency"]>> = [
  ["tenant", "text"],
  ["key", "text"],
  ["requestHash", "text"],
];

/** @returns what is wrong with it; null: it can be stored */
export function unstorableJob(job: NewJob | NewRecurringJob): string | null {
  const own = job.executionId === null ? unstorable(job, RECURRING_JOB) : unstorable(job, JOB);
  return own ?? unstorable(job.definition, DEFINITION);
}

/** @returns what is wrong with it; null: it can be stored */
export function unstorableBirth(birth: Birth): string | null {
  return unstorable(birth, BIRTH) ?? unstorable(birth.row, BORN);
}

/** @returns what is wrong with it; null: it can be stored */
export function unstorableChange(change: RowChange): string | null {
  return unstorable(change, CHANGE);
}

/** @returns what is wrong with it; null: it can be stored */
export function unstorableKey(key: NonNullable<Submission["idempotency"]>): string | null {
  return unstorable(key, IDEMPOTENCY);
}

function unstorable<R>(row: R, columns: Columns<R>): string | null {
  for (const [name, column] of columns) {
    const value = row[name];
    if (value !== null && !FITS[column](value as never)) {
      return `${JSON.stringify(value)} does not fit into ${name}`;
    }
  }
  return null;
}
