import type { Submission, SubmitOutcome } from "../../../ports/store.ts";
import {
  type DecidedRecord,
  type IngestPortion,
  REFUSED_VALUE_MAX,
  type StoreIngest,
} from "../../../ports/store-ingest.ts";
import type { RequestEnd, RequestJudge, TakenRequest } from "../../../ports/store-requests.ts";
import { writeBodies } from "../bodies.ts";
import { idBytes, instantBytes, NO_BYTES, u32, u64 } from "../bytes.ts";
import type { RedisAnswer, RedisArgument } from "../redis-connection.ts";
import { noted, outcomeOf, type Packed, pack, refusal, type Submitting } from "../submit.ts";

/** Records of one portion, which is one call. */
const RECORDS_MAX = 1_000;

/** Text that the store keeps of a refused record. */
export interface RefusalText {
  problem: string;
  /** Time of the record, any number. */
  timestamp: string;
  contentType: string | null;
  valueBytes: number;
  hasValue: boolean;
}

/** A record, and what it is to become. */
interface Asked {
  record: DecidedRecord;
  /** null: it is refused, or the store cannot hold its job. */
  packed: Packed | null;
  /** Message why the store cannot hold its job; null: it can. */
  message: string | null;
}

type Concluding = Pick<RequestJudge, "conclude" | "notesOf">;

/** See StoreIngest.takeIn. The function submits the jobs and moves the position in one call. */
export async function takeIn(
  parts: Submitting,
  { partition, topic, from, next, records }: IngestPortion,
  judge: Concluding,
): ReturnType<StoreIngest["takeIn"]> {
  if (records.length > RECORDS_MAX)
    throw new Error(`a portion of records for Redis has at most ${RECORDS_MAX}, and this one has ${records.length}`);
  const { db, trail, now } = parts;
  const [asked, at] = [await packed(parts, records), now()];
  await db.submit.refuseUnwritable();
  await writeBodies(
    db.submit,
    asked.flatMap(({ packed }) => packed?.bodies ?? []),
    at,
  );
  const notes = judge.notesOf?.(asked.flatMap(({ packed }) => packed?.submission ?? [])) ?? [];
  const head = [u32(partition), idBytes(topic), u64(from), u64(next), instantBytes(at), `${Math.floor(at / 1_000)}`];
  const args = asked.flatMap((one) => recordArguments(one, judge));
  const call = (written: RedisArgument[]) => db.submit.durably("ms_take_in", [...head, ...written, ...args]);
  const answers = await noted(trail, notes, call, (answer: RedisAnswer) => answer !== 0);
  if (answers === 0) return null;
  return asked.flatMap((one, i) => takenOf(one, (answers as Buffer[])[i] as Buffer, judge));
}

async function packed({ kinds, isTelling }: Submitting, records: readonly DecidedRecord[]): Promise<Asked[]> {
  const messages = records.map(({ decision }) => ("state" in decision ? null : refusal(decision)));
  const isFit = (record: DecidedRecord, i: number) => !("state" in record.decision) && messages[i] === null;
  const fit = records.filter(isFit).map(({ decision }) => decision as Submission);
  const all = await pack(kinds, fit, isTelling());
  let at = 0;
  return records.map((record, i) => {
    return { record, message: messages[i] ?? null, packed: isFit(record, i) ? (all[at++] as Packed) : null };
  });
}

/** Arguments of a record, as `read_records` of the library takes them. */
function recordArguments(asked: Asked, judge: Concluding): RedisArgument[] {
  const { record, packed } = asked;
  const { offset, id, value, timestamp, contentType } = record;
  const kept = value === null || value.length > REFUSED_VALUE_MAX ? null : value;
  const about = { timestamp: `${timestamp}`, contentType, valueBytes: value?.length ?? 0, hasValue: kept !== null };
  const text = (end: RequestEnd | null) =>
    JSON.stringify({ problem: end?.state === "REFUSED" ? end.problem : "{}", ...about } satisfies RefusalText);
  const thereId = packed?.submission.jobs[0]?.executionId;
  return [
    ...[u64(offset), idBytes(id), text(endWithout(asked, judge)), kept === null ? NO_BYTES : Buffer.from(kept)],
    text(packed === null ? null : judge.conclude({ kind: "KEY_REUSED" })),
    text(packed === null ? null : judge.conclude({ kind: "REFUSED", message: `there is an execution ${thereId}` })),
    ...(packed === null ? ["0"] : [`${packed.args.length}`, ...packed.args]),
  ];
}

/** End of a record without a job; null: it has one. */
function endWithout({ record, message }: Asked, judge: Concluding): RequestEnd | null {
  if ("state" in record.decision) return record.decision;
  return message === null ? null : judge.conclude({ kind: "REFUSED", message });
}

function takenOf(asked: Asked, answer: Buffer, judge: Concluding): TakenRequest[] {
  const { record, message, packed } = asked;
  const { id, decision } = record;
  const kind = String.fromCharCode(answer[0] as number);
  if (kind === "S") return [];
  if ("state" in decision) return [{ id, end: decision, submitted: null }];
  const outcome =
    packed === null ? { kind: "REFUSED" as const, message: message ?? "" } : outcomeFrom(answer, decision);
  return [{ id, end: judge.conclude(outcome), submitted: { submission: decision, outcome } }];
}

function outcomeFrom(answer: Buffer, { jobs }: Submission): SubmitOutcome {
  if (answer[0] !== "H".charCodeAt(0)) return outcomeOf(answer);
  const there = jobs.map(({ jobId, executionId }) => ({ jobId, executionId, deduplicated: false }));
  return { kind: "ACCEPTED", replayed: true, jobs: there };
}
