import type { Submission, SubmitOutcome } from "../../../ports/store.ts";
import {
  type DecidedRecord,
  type IngestPortion,
  PORTION_RECORDS_MAX,
  REFUSED_VALUE_MAX,
} from "../../../ports/store-ingest.ts";
import type { RequestEnd, RequestJudge, TakenRequest } from "../../../ports/store-requests.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import { byteas, float8s, int4s, int8s, texts, uuids } from "../connection/arrays.ts";
import type { Session } from "../connection/connections.ts";
import { carefully, notesOf, type TakeInParts, takenRequest, writeSubmissions } from "../requests/take-in.ts";
import { type Entry, packEntries, readEntries, SPAN } from "./entries.ts";

/** Moves a position from where the caller believes it to be. A transaction that moves it at the same time is waited for. */
const ADVANCE = `
  UPDATE ingest_positions SET next_offset = $4, updated_at = $5
  WHERE partition = $1 AND topic = $2 AND next_offset = $3 RETURNING replay_until`;

/** Entries of records, the newest row of each offset last. */
const ENTRIES = `
  SELECT first_offset, entries FROM ingest_records
  WHERE partition = $1 AND topic = $2 AND first_offset > $3 AND first_offset < $4 ORDER BY taken_at, first_offset`;

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

const EXISTING = "SELECT id FROM jobs WHERE id = ANY($1::uuid[])";

/** See StoreIngest.takeIn. */
export async function takeInRecords(
  trail: Pick<AuditTrail, "concluded">,
  portion: IngestPortion,
  judge: Pick<RequestJudge, "conclude" | "notesOf">,
  parts: TakeInParts,
): Promise<TakenRequest[] | null> {
  if (portion.records.length > PORTION_RECORDS_MAX) throw new Error(`${portion.records.length} records are too many`);
  return await carefully(
    trail,
    (session, isCareful) => takeInWithin(session, portion, judge, parts, isCareful),
    (taken) => notesOf(taken ?? [], judge),
  );
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
  const packs = packEntries(records.map(({ offset, id }, i) => ({ offset, id, end: (taken[i] as TakenRequest).end })));
  const entries = [int8s(packs, ({ first }) => first), byteas(packs, ({ bytes }) => bytes)];
  await session.run({ name: "add_ingested", text: ADD_ENTRIES, values: [partition, topic, ...entries, now] });
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
