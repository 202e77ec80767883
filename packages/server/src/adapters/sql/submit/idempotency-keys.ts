import type { AcceptedJob, Submission, SubmitOutcome } from "../../../ports/store.ts";
import { texts } from "../connection/arrays.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { KeyVanished } from "./key-vanished.ts";

export type Idempotency = NonNullable<Submission["idempotency"]>;

/** The part of a submission that its answer repeats. */
interface Answerable {
  idempotency: Submission["idempotency"];
  jobs: readonly Pick<AcceptedJob, "jobId" | "executionId">[];
}

type Gated = Answerable & { idempotency: Idempotency };

/**
 * Claims free idempotency keys, and returns them. @param first number of the first of the statement's five parameters
 */
export function claimKeys(first: number): string {
  const [tenants, keys, hashes, responses] = [0, 1, 2, 3].map((place) => `unnest($${first + place}::text[])`);
  return `
  INSERT INTO idempotency_keys (tenant, key, request_hash, response, created_at)
  SELECT ${tenants}, ${keys}, ${hashes}, ${responses}, $${first + 4}::int8
  ON CONFLICT DO NOTHING RETURNING tenant, key`;
}
const CLAIM = claimKeys(1);

const READ = `
  SELECT k.tenant, k.key, k.request_hash, k.response
  FROM (SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS key) w
  JOIN idempotency_keys k ON k.tenant = w.tenant AND k.key = w.key`;

const REWRITE = `
  UPDATE idempotency_keys k SET response = w.response
  FROM (SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS key, unnest($3::text[]) AS response) w
  WHERE k.tenant = w.tenant AND k.key = w.key`;

/**
 * Claims free idempotency keys, each with the answer that its submission will get. The statement waits for a key that
 * another transaction is claiming.
 * @returns outcomes of submissions whose key was claimed before
 */
export async function claimIdempotencyKeys(
  session: Session,
  batch: readonly Answerable[],
  now: number,
): Promise<Map<Answerable, SubmitOutcome>> {
  const gated = batch.filter((submission): submission is Gated => submission.idempotency !== null);
  const outcomes = new Map<Answerable, SubmitOutcome>();
  if (gated.length === 0) return outcomes;
  const claimed = await session.run({ name: "claim_keys", text: CLAIM, values: claimValues(gated, now) });
  const taken = withoutClaimed(gated, claimed);
  if (taken.length > 0) await readTaken(session, taken, outcomes);
  return outcomes;
}

/** Values of `claimKeys`, in the order in which every transaction claims keys. */
export function claimValues(submissions: readonly Gated[], now: number): unknown[] {
  const gated = submissions.toSorted(byKey);
  return [
    texts(gated, (s) => s.idempotency.tenant),
    texts(gated, (s) => s.idempotency.key),
    texts(gated, (s) => s.idempotency.requestHash),
    texts(gated, (s) => responseText(s.jobs.map((job) => ({ ...job, deduplicated: false })))),
    now,
  ];
}

/** Submissions whose keys were claimed before. @param claimed rows that `claimKeys` has returned */
export function withoutClaimed<S extends Gated>(
  submissions: readonly S[],
  claimed: readonly (readonly unknown[])[],
): S[] {
  const names = new Set(claimed.map(nameOf));
  return submissions.filter((submission) => !names.has(keyName(submission)));
}

async function readTaken(session: Session, taken: readonly Gated[], outcomes: Map<Answerable, SubmitOutcome>) {
  const values = [texts(taken, (s) => s.idempotency.tenant), texts(taken, (s) => s.idempotency.key)];
  const rows = await session.run({ name: "read_keys", text: READ, values });
  const stored = new Map(rows.map((row) => [nameOf(row), row]));
  for (const submission of taken) {
    const row = stored.get(keyName(submission));
    if (row === undefined)
      throw new KeyVanished(`The idempotency key ${submission.idempotency.key} was just forgotten`);
    outcomes.set(submission, repeatedOutcome(row, submission.idempotency.requestHash));
  }
}

/** See StoreQueries.answered. */
export async function answered(db: Connections, idempotency: Gated["idempotency"]): Promise<SubmitOutcome | null> {
  const values = [texts([idempotency], ({ tenant }) => tenant), texts([idempotency], ({ key }) => key)];
  const [row] = await db.run("query", { name: "read_keys", text: READ, values });
  return row === undefined ? null : repeatedOutcome(row, idempotency.requestHash);
}

function repeatedOutcome(row: readonly unknown[], requestHash: string): SubmitOutcome {
  const [, , known, response] = row as [string, string, string, string];
  if (known !== requestHash) return { kind: "KEY_REUSED" };
  return { kind: "ACCEPTED", replayed: true, jobs: acceptedJobs(response) };
}

/** Updates stored answers that, because of unique keys and names, have other ids than at the time of the claim. */
export async function rewriteResponses(
  session: Session,
  accepted: ReadonlyMap<Submission, { jobs: readonly AcceptedJob[] }>,
): Promise<void> {
  const changed = [...accepted].filter(
    ([s, answer]) => s.idempotency !== null && answer.jobs.some((j) => j.deduplicated || j.nameHeldBy),
  );
  if (changed.length === 0) return;
  const values = [
    texts(changed, ([s]) => s.idempotency?.tenant ?? null),
    texts(changed, ([s]) => s.idempotency?.key ?? null),
    texts(changed, ([, answer]) => responseText(answer.jobs)),
  ];
  await session.run({ name: "rewrite_keys", text: REWRITE, values });
}

function responseText(jobs: readonly AcceptedJob[]): string {
  return JSON.stringify(
    jobs.map(({ jobId, executionId, deduplicated, nameHeldBy }) => {
      const answer = [jobId, executionId, deduplicated ? 1 : 0];
      return nameHeldBy === undefined ? answer : [...answer, nameHeldBy];
    }),
  );
}

export function acceptedJobs(text: string): AcceptedJob[] {
  const jobs = JSON.parse(text) as [string, string | null, number, string?][];
  return jobs.map(([jobId, executionId, deduplicated, nameHeldBy]) => {
    const answer = { jobId, executionId, deduplicated: deduplicated === 1 };
    return nameHeldBy === undefined ? answer : { ...answer, nameHeldBy };
  });
}

function keyName({ idempotency }: Gated): string {
  return JSON.stringify([idempotency.tenant, idempotency.key]);
}

function nameOf(row: readonly unknown[]): string {
  return JSON.stringify(row.slice(0, 2));
}

function byKey(a: Gated, b: Gated): number {
  return keyName(a) < keyName(b) ? -1 : 1;
}
