import type { Submission, SubmitOutcome } from "../../../ports/store.ts";
import {
  type DecidedRecord,
  type IngestPortion,
  PORTION_RECORDS_MAX,
  REFUSED_VALUE_MAX,
} from "../../../ports/store-ingest.ts";
import type { RequestEnd, RequestJudge, TakenRequest } from "../../../ports/store-requests.ts";
import { inboxOfJobs } from "../../../ports/told-events.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { byteas, float8s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { isDataError } from "../connection/errors.ts";
import { inboxValues, insertFrom } from "../events/inbox.ts";
import {
  carefully,
  isCertain,
  notesOf,
  type TakeInParts,
  takenRequest,
  writeSubmissions,
} from "../requests/take-in.ts";
import { INSERT_EXECUTIONS, INSERT_JOBS, insertValues, NEW_JOBS } from "../submit/insert.ts";
import { bytesOf, raiseLevels, STATEMENT } from "../submit/submit.ts";
import { takenOutcome } from "../submit/submit-keyed.ts";
import { type Entry, packEntries, readEntries, SPAN } from "./entries.ts";

/** Moves a position from where the caller believes it to be. A transaction that moves it at the same time is waited for. */
export const ADVANCE = `
  UPDATE ingest_positions SET next_offset = $4, updated_at = $5
  WHERE partition = $1 AND topic = $2 AND next_offset = $3 RETURNING replay_until`;

/**
 * All that becomes of a portion that was never read before and whose jobs have no keys, in one statement: if the position is where it
 * is believed to be, it moves, and the jobs and entries are inserted; else nothing is.
 */
const takeFresh = (isTelling: boolean) => `
  WITH moved AS (
    UPDATE ingest_positions SET next_offset = $24::int8, updated_at = $25::int8
    WHERE partition = $21::int4 AND topic = $22::uuid AND next_offset = $23::int8 AND replay_until <= $23 RETURNING 1
  ), n AS MATERIALIZED (SELECT w.* FROM moved, (${NEW_JOBS}) w), j AS (${INSERT_JOBS}), e AS (${INSERT_EXECUTIONS}), i AS (
    INSERT INTO ingest_records (partition, topic, first_offset, taken_at, entries)
    SELECT $21, $22, unnest($26::int8[]), $25, unnest($27::bytea[]) FROM moved
    ON CONFLICT (partition, topic, first_offset, taken_at) DO UPDATE SET entries = excluded.entries
  )${isTelling ? `, told AS (${insertFrom(28)} FROM moved)` : ""}
  SELECT 1 FROM moved`;
export const TAKE_FRESH = takeFresh(false);
export const TAKE_FRESH_TELLING = takeFresh(true);

/**
 * Entries of records, the newest row of each offset last. A plan that is made while the table is empty finds all indexes equally cheap.
 * Without the CTE, the order by time would decide for the index by time, which has the rows of all partitions.
 */
export const ENTRIES = `
  WITH found AS MATERIALIZED (
    SELECT first_offset, entries, taken_at FROM ingest_records
    WHERE partition = $1 AND topic = $2 AND first_offset > $3 AND first_offset < $4
  )
  SELECT first_offset, entries FROM found ORDER BY taken_at, first_offset`;

const ADD_ENTRIES = `
  INSERT INTO ingest_records (partition, topic, first_offset, taken_at, entries)
  SELECT $1::int4, $2::uuid, unnest($3::int8[]), $5::int8, unnest($4::bytea[])
  ON CONFLICT (partition, topic, first_offset, taken_at) DO UPDATE SET entries = excluded.entries`;

const ADD_REFUSALS = `
  INSERT INTO ingest_refusals (partition, topic, record_offset, refused_at, recorded_at, problem, content_type, value,
    value_bytes, is_told)
  SELECT $1::int4, $2::uuid, unnest($3::int8[]), $9::int8, unnest($4::float8[]), unnest($5::text[]), unnest($6::text[]),
    unnest($7::bytea[]), unnest($8::int4[]), false
  ON CONFLICT (partition, topic, record_offset) DO UPDATE SET refused_at = excluded.refused_at, problem = excluded.problem,
    value = excluded.value, is_told = false`;

/** Drops refusals of records that a replay has taken in. */
const DROP_REFUSALS = `
  DELETE FROM ingest_refusals WHERE partition = $1 AND topic = $2 AND record_offset = ANY($3::int8[])`;

const EXISTING = "SELECT id FROM jobs WHERE id = ANY($1::uuid[])";

/** See StoreIngest.takeIn. */
export async function takeInRecords(
  db: Pick<Connections, "run">,
  trail: Pick<AuditTrail, "concluded">,
  portion: IngestPortion,
  judge: Pick<RequestJudge, "conclude" | "notesOf">,
  parts: TakeInParts,
): Promise<TakenRequest[] | null> {
  if (portion.records.length > PORTION_RECORDS_MAX) throw new Error(`${portion.records.length} records are too many`);
  const fresh = await takenFresh(db, portion, judge, parts);
  if (fresh !== null) return fresh;
  return await carefully((isCareful) =>
    trail.concluded(
      "submit",
      (session) => takeInWithin(session, portion, judge, parts, isCareful),
      (taken) => notesOf(taken ?? [], judge),
    ),
  );
}

/**
 * Takes in records that need one statement only.
 * @returns null: nothing was written, because the position is another one, records need more than one statement, or the audit log has to
 *  have a record
 */
async function takenFresh(
  db: Pick<Connections, "run">,
  { partition, topic, from, next, records }: IngestPortion,
  judge: Pick<RequestJudge, "conclude" | "notesOf">,
  { levels, inbox, now }: TakeInParts,
): Promise<TakenRequest[] | null> {
  const submissions = records.map(({ decision }) => decision).filter(isCertain);
  if (records.length === 0 || submissions.length < records.length) return null;
  if ((judge.notesOf?.(submissions) ?? []).length > 0) return null;
  const jobs = submissions.map(({ jobs: [job] }) => job);
  if (jobs.length > STATEMENT.count || bytesOf(jobs) > STATEMENT.bytes) return null;
  await raiseLevels(levels, submissions);
  const isTelling = await inbox.begin();
  const outcomes = new Map(submissions.map((submission) => [submission, takenOutcome(submission)]));
  const taken = records.map(({ id, decision }) => takenRequest(id, decision, outcomes, judge));
  const position = [partition, topic, from, next, Math.floor(now())];
  try {
    const values = [...insertValues(jobs), ...position, ...entryValues(records, taken)];
    const statement = isTelling
      ? { name: "take_fresh_telling", text: TAKE_FRESH_TELLING, values: [...values, ...inboxValues(inboxOfJobs(jobs))] }
      : { name: "take_fresh", text: TAKE_FRESH, values };
    return (await db.run("submit", statement)).length === 0 ? null : taken;
  } catch (error) {
    // A job that the store refuses, or that is there already, has to be found.
    if (isDataError(error)) return null;
    throw error;
  }
}

function entryValues(records: readonly DecidedRecord[], taken: readonly TakenRequest[]): unknown[] {
  const packs = packEntries(records.map(({ offset, id }, i) => ({ offset, id, end: (taken[i] as TakenRequest).end })));
  return [int8s(packs, ({ first }) => first), byteas(packs, ({ bytes }) => bytes)];
}

async function takeInWithin(
  session: Session,
  { partition, topic, from, next, records }: IngestPortion,
  judge: Pick<RequestJudge, "conclude">,
  parts: TakeInParts,
  isCareful: boolean,
): Promise<TakenRequest[] | null> {
  const now = Math.floor(parts.now());
  const values = [partition, topic, from, next, now];
  const [moved] = await session.run({ name: "advance_ingest", text: ADVANCE, values });
  if (moved === undefined) return null;
  const isReplay = from < (moved[0] as number);
  const before = isReplay ? await takenBefore(session, partition, topic, records) : new Set();
  const asked = records.filter((record) => !before.has(record));
  const known = isReplay || isCareful ? await existing(session, asked) : new Map<Submission, SubmitOutcome>();
  const submissions = asked.flatMap(({ decision }) => ("jobs" in decision && !known.has(decision) ? [decision] : []));
  const written = await writeSubmissions(session, submissions, parts, isCareful);
  const outcomes = new Map([...known, ...written]);
  const taken = asked.map(({ id, decision }) => takenRequest(id, decision, outcomes, judge));
  await addEntries(session, { partition, topic, now }, asked, taken);
  const again = isReplay ? asked.filter((_, i) => taken[i]?.end.state === "TAKEN_IN") : [];
  if (again.length > 0) {
    const offsets = int8s(again, ({ offset }) => offset);
    await session.run({ text: DROP_REFUSALS, values: [partition, topic, offsets] });
  }
  return taken;
}

/** Records that have become jobs before: those of the same id, because a log that lost its end has other records at old offsets. */
async function takenBefore(
  session: Session,
  partition: number,
  topic: string,
  records: readonly DecidedRecord[],
): Promise<Set<DecidedRecord>> {
  const [first, last] = [records[0]?.offset ?? 0, records.at(-1)?.offset ?? 0];
  const values = [partition, topic, first - SPAN, last + 1];
  const rows = await session.run({ name: "read_ingested", text: ENTRIES, values });
  const newest = new Map<number, Entry>();
  for (const [from, bytes] of rows as [number, Buffer][])
    for (const entry of readEntries({ first: from, bytes })) newest.set(entry.offset, entry);
  const isTaken = ({ offset, id }: DecidedRecord) => {
    const entry = newest.get(offset);
    return entry?.id === id && entry.end.state === "TAKEN_IN";
  };
  return new Set(records.filter(isTaken));
}

/** Outcomes of submissions whose job there is already, or whose id an earlier one of them has. */
async function existing(session: Session, records: readonly DecidedRecord[]): Promise<Map<Submission, SubmitOutcome>> {
  const submissions = records.flatMap(({ decision }) => ("jobs" in decision ? [decision] : []));
  const ids = submissions.flatMap(({ jobs }) => jobs);
  const rows = await session.run({ text: EXISTING, values: [uuids(ids, ({ jobId }) => jobId)] });
  const seen = new Set(rows.map(([id]) => id as string));
  const outcomes = new Map<Submission, SubmitOutcome>();
  for (const submission of submissions) {
    const [job] = submission.jobs;
    if (job === undefined) continue;
    const { jobId, executionId } = job;
    const outcome = { kind: "ACCEPTED" as const, replayed: true, jobs: [{ jobId, executionId, deduplicated: false }] };
    if (seen.has(jobId)) outcomes.set(submission, outcome);
    seen.add(jobId);
  }
  return outcomes;
}

interface At {
  partition: number;
  topic: string;
  now: number;
}

async function addEntries(
  session: Session,
  { partition, topic, now }: At,
  records: readonly DecidedRecord[],
  taken: readonly TakenRequest[],
): Promise<void> {
  if (records.length === 0) return;
  const values = [partition, topic, ...entryValues(records, taken), now];
  await session.run({ name: "add_ingested", text: ADD_ENTRIES, values });
  const refused = records.flatMap((record, i) => {
    const { end } = taken[i] as { end: RequestEnd };
    return end.state === "REFUSED" ? [{ ...record, problem: end.problem }] : [];
  });
  if (refused.length === 0) return;
  const kept = (value: Uint8Array | null) => (value === null || value.length > REFUSED_VALUE_MAX ? null : value);
  const columns = [
    int8s(refused, ({ offset }) => offset),
    float8s(refused, ({ timestamp }) => timestamp),
    texts(refused, ({ problem }) => problem),
    texts(refused, ({ contentType }) => contentType),
    byteas(refused, ({ value }) => kept(value)),
    int4s(refused, ({ value }) => value?.length ?? 0),
  ];
  await session.run({ name: "add_refusals", text: ADD_REFUSALS, values: [partition, topic, ...columns, now] });
}
