import type { EpochMs, ExecutionId } from "../../../domain/ids.ts";
import { SKIP_REASONS, type Skip } from "../../../domain/recurrence.ts";
import { unstorableBirth } from "../../../ports/storable.ts";
import type { Replacement, RowChange, ShardCommit } from "../../../ports/store.ts";
import type { CreatedOccurrence, PlanChange } from "../../../ports/store-recurrences.ts";
import { INSTANT_MAX, idBytes, instantAt, instantBytes, NO_BYTES, u32, writeInstant, writeLane } from "../bytes.ts";
import { type Kinds, textsOfJob } from "../kinds.ts";
import { readRows } from "../owner-reads.ts";
import { copiedFields, uniqueField } from "../record.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";
import { type Numbers, textsOfRow } from "../runs/new-workflow.ts";
import { laterRecord, payloadFields, skippedRecord } from "./later-record.ts";
import { planRecord, revisionBytes } from "./plan-record.ts";

/** Bytes of the fixed fields of a newer definition: lane, flow, kind, scheduled time and version. */
const REPLACED_BYTES = 25;

/** Arguments of a batch for what commits say about plans and newer definitions. */
export interface PackedPlans {
  /** Arguments of the plans of a shard. */
  plansOf: (commit: ShardCommit) => RedisArgument[];
  /** Fields of the newer definition of a change; empty: it has none. */
  replacedBy: (change: RowChange) => Buffer;
  /** Numbers of the flow and kind of an execution that the batch creates. */
  numbersOf: (row: CreatedOccurrence["row"]) => Numbers;
}

/** Packs the plans and newer definitions of a batch, once the numbers of their flows and kinds are known. */
export async function packedPlans(
  db: RedisConnection,
  kinds: Kinds,
  batch: readonly ShardCommit[],
  updatedAt: EpochMs,
): Promise<PackedPlans> {
  const replaced = await replacedIn(db, kinds, batch);
  const occurrences = batch.flatMap(({ plans }) => plans.flatMap((plan) => plan.created));
  const created = [...occurrences, ...batch.flatMap(({ births }) => births)];
  const asked = [...created.flatMap(({ row }) => textsOfRow(row)), ...[...replaced.values()].flatMap(textsOfJob)];
  const numbers = await numbering(kinds, asked);
  return {
    plansOf: ({ plans }) => [`${plans.length}`, ...plans.flatMap((plan) => planArguments(plan, numbers, updatedAt))],
    replacedBy: ({ id }) => {
      const found = replaced.get(id);
      return found === undefined ? NO_BYTES : replacedFields(found, numbers);
    },
    numbersOf: (row) => numbersOf(row, numbers),
  };
}

/** A newer definition with the tenant of its execution. */
interface Replaced extends Replacement {
  tenant: string;
}

/** Newer definitions by execution. An execution that is not stored is left out, because the commit misses it. */
async function replacedIn(
  db: RedisConnection,
  kinds: Kinds,
  batch: readonly ShardCommit[],
): Promise<Map<ExecutionId, Replaced>> {
  const changes = batch.flatMap((commit) => commit.changes.filter(({ replacement }) => replacement !== undefined));
  const rows = await readRows(
    db,
    changes.map(({ id }) => id),
  );
  const known = await kinds.kindsOf(rows.flatMap((row) => row?.kind ?? []));
  const found = new Map<ExecutionId, Replaced>();
  for (const [i, { id, replacement }] of changes.entries()) {
    const kind = known.get(rows[i]?.kind ?? -1);
    if (kind !== undefined && replacement !== undefined) found.set(id, { ...replacement, tenant: kind.tenant });
  }
  return found;
}

/** Number of the text of a flow or kind. */
type NumberOf = (text: string) => number;

async function numbering(kinds: Kinds, texts: readonly string[]): Promise<NumberOf> {
  const asked = [...new Set(texts)];
  const numbers = asked.length === 0 ? [] : await kinds.numbersOf(asked);
  const byText = new Map(asked.map((text, i) => [text, numbers[i] as number]));
  return (text) => byText.get(text) as number;
}

function numbersOf(row: CreatedOccurrence["row"], numberOf: NumberOf): Numbers {
  const [flow, kind] = textsOfRow(row);
  return { flow: numberOf(flow), kind: numberOf(kind) };
}

/** Fields of a newer definition, as `changed` of the library takes them. */
function replacedFields(replaced: Replaced, numberOf: NumberOf): Buffer {
  const { definition, laneHash, jobVersion, payloadBytes } = replaced;
  const [flow, kind] = textsOfJob(replaced);
  const head = Buffer.alloc(REPLACED_BYTES);
  writeLane(head, laneHash, 0);
  head.writeUInt32BE(numberOf(flow), 7);
  head.writeUInt32BE(numberOf(kind), 11);
  writeInstant(head, definition.scheduledAt, 15);
  head.writeUInt32BE(jobVersion, 21);
  return Buffer.concat([head, ...copiedFields(definition), ...payloadFields(payloadBytes)]);
}

/** Arguments of one plan, as `read_plans` of the library takes them. The function keeps the shard and the flow of the stored record. */
function planArguments(change: PlanChange, numberOf: NumberOf, updatedAt: EpochMs): RedisArgument[] {
  const { jobId, wasRevision, revision, plan, created, skips } = change;
  return [
    ...[idBytes(jobId), revisionBytes(wasRevision), planRecord({ revision, shard: 0, flow: 0, plan })],
    Buffer.concat(skips.map(skipBytes)),
    ...[`${created.length}`, ...created.flatMap((one) => createdArguments(one, numberOf, updatedAt))],
  ];
}

function createdArguments(created: CreatedOccurrence, numberOf: NumberOf, updatedAt: EpochMs): RedisArgument[] {
  const { row, trigger, laneHash, uniqueKey, createdAt } = created;
  const execution = {
    ...{ ...row, trigger, laneHash, uniqueKey, createdAt, updatedAt, queue: "READY" as const, retryOf: null },
    ...{ ...numbersOf(row, numberOf), payload: row.payloadBytes, isRun: row.node !== undefined },
  };
  const [skipped, unique] =
    uniqueKey === null ? [NO_BYTES, NO_BYTES] : [skippedRecord(execution), uniqueField(row.tenant, uniqueKey)];
  return [idBytes(row.id), laterRecord(execution), skipped, unique, row.tenant];
}

/** Bytes of a range of skipped instants: the first, the last, their number and the reason. */
export function skipBytes({ from, to, count, reason }: Skip): Buffer {
  return Buffer.concat([
    ...[instantBytes(from), instantBytes(to), u32(count)],
    Buffer.from([SKIP_REASONS.indexOf(reason)]),
  ]);
}

/** A range of skipped instants, of its bytes. */
export function skipOf(bytes: Buffer): Skip {
  return {
    from: instantAt(bytes, 0) as EpochMs,
    to: instantAt(bytes, 6) as EpochMs,
    count: bytes.readUInt32BE(12),
    reason: SKIP_REASONS[bytes[16] as number] as Skip["reason"],
  };
}

/** @returns executions of the commit that the store can never hold, each with the reason */
export function refusedOccurrences({ plans }: ShardCommit): { id: ExecutionId; message: string }[] {
  return plans.flatMap(({ created }) =>
    created.flatMap((occurrence) => {
      const { row, createdAt } = occurrence;
      const beyond = [row.dueAt, row.scheduledAt, createdAt].find((instant) => instant < 0 || instant > INSTANT_MAX);
      const message = unstorableBirth(occurrence) ?? (beyond === undefined ? null : `${beyond} is no time of a record`);
      return message === null ? [] : [{ id: row.id, message }];
    }),
  );
}

/** The plans without executions that the store refuses. The plans move on. */
export function withoutOccurrences(plans: readonly PlanChange[], ids: ReadonlySet<ExecutionId>): PlanChange[] {
  return plans.map((plan) => ({ ...plan, created: plan.created.filter(({ row }) => !ids.has(row.id)) }));
}
