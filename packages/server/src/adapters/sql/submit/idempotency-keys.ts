import type { AcceptedJob, Submission, SubmitOutcome } from "../../../ports/store.ts";
import { texts } from "../connection/arrays.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { KeyVanished } from "./key-vanished.ts";

type Gated = Submission & { idempotency: NonNullable<Submission["idempotency"]> };

const CLAIM = `
  INSERT INTO idempotency_keys (tenant, key, request_hash, response, created_at)
  SELECT unnest($1::text[]), unnest($2::text[]), unnest($3::text[]), unnest($4::text[]), $5
  ON CONFLICT DO NOTHING RETURNING tenant, key`;

const READ = `
  SELECT k.tenant, k.key, k.request_hash, k.response
  FROM (SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS key) w
  JOIN idempotency_keys k ON k.tenant = w.tenant AND k.key = w.key`;

const REWRITE = `
  UPDATE idempotency_keys k SET response = w.response
  FROM (SELECT unnest($1::text[]) AS tenant, unnest($2::text[]) AS key, unnest($3::text[]) AS response) w
  WHERE k.tenant = w.tenant AND k.key = w.key`;

/**
 * Takes the keys that are free, with the answer that their submission will get. A key that another transaction is about
 * to take is waited for.
 * @returns the outcomes of those whose key was taken before
 */
export async function claimIdempotencyKeys(
  session: Session,
  batch: readonly Submission[],
  now: number,
): Promise<Map<Submission, SubmitOutcome>> {
  const gated = batch.filter((submission): submission is Gated => submission.idempotency !== null).sort(byKey);
  const outcomes = new Map<Submission, SubmitOutcome>();
  if (gated.length === 0) return outcomes;
  const values = [
    texts(gated, (s) => s.idempotency.tenant),
    texts(gated, (s) => s.idempotency.key),
    texts(gated, (s) => s.idempotency.requestHash),
    texts(gated, (s) => responseText(s.jobs.map((job) => ({ ...job, deduplicated: false })))),
    now,
  ];
  const claimed = new Set((await session.run({ name: "claim_keys", text: CLAIM, values })).map(nameOf));
  const taken = gated.filter((submission) => !claimed.has(keyName(submission)));
  if (taken.length > 0) await readTaken(session, taken, outcomes);
  return outcomes;
}

async function readTaken(session: Session, taken: readonly Gated[], outcomes: Map<Submission, SubmitOutcome>) {
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

/** The answers in which unique keys and names put other ids than those that were stored when the key was taken. */
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

function acceptedJobs(text: string): AcceptedJob[] {
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
