import type { EpochMs } from "../../../domain/ids.ts";
import type { ExecutionPolicy } from "../../../domain/job.ts";
import { field, u32, writeInstant, writeRank } from "../bytes.ts";
import {
  AT,
  copiedFields,
  HEAD,
  HOLDS_KEY,
  IS_CHANGED,
  queueCode,
  type StoredExecution,
  stateCode,
  triggerCode,
  uniqueField,
} from "../record.ts";

/** Bytes of a lane, a flow and a kind, which follow each other in a record. */
const LANE_TO_KIND = 15;

interface Replayed {
  letter: StoredExecution;
  /** Record of the letter. */
  bytes: Buffer;
  tenant: string;
  /** Policy of the replay. */
  policy: ExecutionPolicy;
  rank: number;
  at: EpochMs;
}

/** Record of a new execution that repeats a dead letter: it is ready at once, and a copy of the letter otherwise. */
export function replayRecord({ letter, bytes, tenant, policy, rank, at }: Replayed): Buffer {
  const { uniqueKey, jobVersion } = letter;
  const head = Buffer.alloc(HEAD);
  head[AT.flags] = IS_CHANGED;
  head[AT.state] = stateCode("PENDING");
  head[AT.queue] = queueCode("READY");
  writeRank(head, rank, AT.rank);
  head[AT.shard] = bytes[AT.shard] as number;
  bytes.copy(head, AT.lane, AT.lane, AT.lane + LANE_TO_KIND);
  head[AT.origin] = triggerCode("RETRY") | (uniqueKey === null ? 0 : HOLDS_KEY);
  for (const place of [AT.due, AT.created, AT.scheduled, AT.updated]) writeInstant(head, at, place);
  for (const place of [AT.attemptStarted, AT.started, AT.finished]) writeInstant(head, null, place);
  head.writeUInt32BE(jobVersion, AT.version);
  const unique = uniqueKey === null ? Buffer.alloc(0) : uniqueField(tenant, uniqueKey);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(unique.length);
  const identity = Buffer.concat([length, unique, field("J", letter.jobId), field("R", letter.id)]);
  const copy = Buffer.concat([
    ...copiedFields({ concurrencyKey: letter.concurrencyKey, policy }),
    payloadField(letter),
  ]);
  return Buffer.concat([head, u32(identity.length), identity, u32(copy.length), copy, u32(0)]);
}

function payloadField({ payload }: StoredExecution): Buffer {
  if (payload === null) return Buffer.alloc(0);
  return typeof payload === "number" ? field("B", u32(payload)) : field("P", payload);
}

/** Ids of a letter, its replay and its job, with the flow, the shard and the scheduled time of the replay, as the function takes them. */
export function placeOf(bytes: Buffer, ids: readonly Buffer[]): Buffer {
  return Buffer.concat([...ids, bytes.subarray(AT.flow, AT.flow + 4), bytes.subarray(AT.shard, AT.shard + 1)]);
}
