import type { NewJob, NewRecurringJob, RowChange, Submission } from "./store.ts";
import type { CreatedOccurrence } from "./store-recurrences.ts";
import type { NewNode, NewWorkflow, NodeBirth } from "./store-runs.ts";

/** A value that does not fit into its place in the store. */
export class UnstorableValue extends Error {
  override readonly name = "UnstorableValue";
}

/**
 * Types of values that the columns of the real store can hold. If the simulated store accepted everything, it would
 * hide refusals of the real one.
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

const BORN: Columns<CreatedOccurrence["row"]> = [
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

const BIRTH: Columns<CreatedOccurrence> = [
  ["laneHash", "bits53"],
  ["uniqueKey", "text"],
  ["createdAt", "bits53"],
];

const ASSIGNED: Columns<NonNullable<NodeBirth["assigned"]>> = [
  ["workerId", "text"],
  ["gateway", "text"],
];

const NODE: Columns<NewNode> = [
  ["laneHash", "bits53"],
  ["createdAt", "bits53"],
];

const NODE_ROW: Columns<NewNode["row"]> = [...BORN, ["node", "bits32"], ["item", "bits32"]];

const WORKFLOW: Columns<NewWorkflow> = [
  ["tenant", "text"],
  ["shard", "bits16"],
  ["rank", "finite"],
  ["laneHash", "bits53"],
  ["createdAt", "bits53"],
  ["deadline", "bits53"],
  ["nodes", "bits32"],
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
  ["branch", "text"],
];

const IDEMPOTENCY: Columns<NonNullable<Submission["idempotency"]>> = [
  ["tenant", "text"],
  ["key", "text"],
  ["requestHash", "text"],
];

/** @returns reason why the job cannot be stored; null: it can */
export function unstorableJob(job: NewJob | NewRecurringJob): string | null {
  const own = job.executionId === null ? unstorable(job, RECURRING_JOB) : unstorable(job, JOB);
  return own ?? unstorable(job.definition, DEFINITION);
}

/** @returns reason why the workflow cannot be stored; null: it can */
export function unstorableWorkflow(workflow: NewWorkflow): string | null {
  const own = unstorable(workflow, WORKFLOW) ?? unstorable(workflow.definition, DEFINITION);
  return own ?? workflow.roots.map(unstorableNode).find((message) => message !== null) ?? null;
}

/** @returns reason why the execution of a node cannot be stored; null: it can */
export function unstorableNode(node: NewNode & Pick<NodeBirth, "assigned">): string | null {
  const { assigned } = node;
  return (
    unstorable(node, NODE) ??
    unstorable(node.row, NODE_ROW) ??
    (assigned === undefined ? null : unstorable(assigned, ASSIGNED))
  );
}

/** @returns reason why the occurrence cannot be stored; null: it can */
export function unstorableBirth(occurrence: CreatedOccurrence): string | null {
  return unstorable(occurrence, BIRTH) ?? unstorable(occurrence.row, BORN);
}

/** @returns reason why the change cannot be stored; null: it can */
export function unstorableChange(change: RowChange): string | null {
  return unstorable(change, CHANGE);
}

/** @returns reason why the key cannot be stored; null: it can */
export function unstorableKey(key: NonNullable<Submission["idempotency"]>): string | null {
  return unstorable(key, IDEMPOTENCY);
}

function unstorable<R>(row: R, columns: Columns<R>): string | null {
  for (const [name, column] of columns) {
    const value = row[name];
    if (value !== null && value !== undefined && !FITS[column](value as never)) {
      return `${JSON.stringify(value)} does not fit into ${name}`;
    }
  }
  return null;
}
