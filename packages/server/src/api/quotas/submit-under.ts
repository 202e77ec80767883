import { StoreUnavailable, type Submission, type SubmitOutcome } from "../../ports/store.ts";
import { type AnyJob, isWorkflow } from "../../ports/store-runs.ts";
import { ProblemError } from "../http/errors.ts";
import { type Charge, FREE, type Load, type Quotas } from "./quotas.ts";

/** Size of new rows. @param bodyBytes see Load */
export function loadOf(jobs: readonly AnyJob[], bodyBytes = 0): Load {
  const load = { jobs: jobs.length, waiting: 0, recurring: 0, payloadBytes: 0, bodyBytes };
  for (const job of jobs) {
    if (job.executionId === null) load.recurring++;
    else load.waiting += isWorkflow(job) ? job.roots.length : 1;
    load.payloadBytes = Math.max(load.payloadBytes, job.payload?.length ?? 0);
    if (isWorkflow(job))
      for (const { payload } of job.payloads) load.payloadBytes = Math.max(load.payloadBytes, payload.length);
  }
  return load;
}

type Idempotency = NonNullable<Submission["idempotency"]>;

interface Ways {
  quotas: Quotas | undefined;
  /** Answer to an earlier request with the key; null: there was none. */
  answered(idempotency: Idempotency): Promise<SubmitOutcome | null>;
  submit(submission: Submission): Promise<SubmitOutcome>;
}

/**
 * Submits under the quotas of the tenant. A repeat of an accepted request is answered, over a quota or not, and costs nothing.
 * @param charge the submission is charged already; left out: it is not
 * @throws {ProblemError} 429 or 413: over a quota, and nothing was written
 */
export async function submitUnder(
  { quotas, answered, submit }: Ways,
  tenant: string,
  submission: Submission,
  bodyBytes = 0,
  charge?: Charge,
): Promise<SubmitOutcome> {
  if (charge !== undefined) return await endedBy(charge, () => submit(submission));
  if (quotas === undefined || !quotas.limits(tenant)) return await submit(submission);
  const { idempotency, jobs } = submission;
  let charged: Charge;
  try {
    charged = await quotas.charge(tenant, loadOf(jobs, bodyBytes));
  } catch (error) {
    const known = idempotency === null || !(error instanceof ProblemError) ? null : await answered(idempotency);
    if (known === null) throw error;
    return known;
  }
  return await endedBy(charged, () => submit(submission));
}

/** Ends a charge by what comes of the submission. */
async function endedBy(charge: Charge, submit: () => Promise<SubmitOutcome>): Promise<SubmitOutcome> {
  try {
    const outcome = await submit();
    charge.end(outcome.kind === "ACCEPTED" && !outcome.replayed ? "WRITTEN" : "NOTHING");
    return outcome;
  } catch (error) {
    const isUnwritten = error instanceof ProblemError || (error instanceof StoreUnavailable && error.isUnasked);
    charge.end(isUnwritten ? "NOTHING" : "UNKNOWN");
    throw error;
  }
}

/** A part of a batch that is submitted by itself. */
export interface BatchPart {
  load: Load;
  /** null: the part has no key. */
  idempotency: Submission["idempotency"];
}

/**
 * Charges all parts of a batch or none. Parts that repeat an accepted request cost nothing where the batch is over a quota.
 * @returns a charge for each part; an error for each part that is refused beside repeats
 * @throws {ProblemError} 429 or 413: all parts are refused
 */
export async function chargeBatch(
  quotas: Quotas,
  wasAnswered: (idempotency: Idempotency) => Promise<boolean>,
  tenant: string,
  parts: readonly BatchPart[],
): Promise<(Charge | ProblemError)[]> {
  try {
    const whole = await quotas.charge(tenant, sumOf(parts));
    return parts.map(({ load }) => whole.partOf(load));
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error;
    const repeats = await Promise.all(parts.map(({ idempotency }) => idempotency !== null && wasAnswered(idempotency)));
    if (!repeats.includes(true)) throw error;
    const rest = parts.filter((_, index) => !repeats[index]);
    const charge = await quotas.charge(tenant, sumOf(rest)).catch((refused: unknown) => {
      if (refused instanceof ProblemError) return refused;
      throw refused;
    });
    return parts.map(({ load }, index) => {
      if (repeats[index]) return FREE;
      return charge instanceof ProblemError ? charge : charge.partOf(load);
    });
  }
}

function sumOf(parts: readonly BatchPart[]): Load {
  const sum = { jobs: 0, waiting: 0, recurring: 0, payloadBytes: 0, bodyBytes: 0 };
  for (const { load } of parts) {
    sum.jobs += load.jobs;
    sum.waiting += load.waiting;
    sum.recurring += load.recurring;
    sum.payloadBytes = Math.max(sum.payloadBytes, load.payloadBytes);
    sum.bodyBytes = Math.max(sum.bodyBytes, load.bodyBytes);
  }
  return sum;
}
