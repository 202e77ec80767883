import { createHash } from "node:crypto";
import { SIGNALS_OPEN_MAX, SIGNALS_OPEN_MAX_BYTES } from "@mainspring/contract/limits";
import { levelOf } from "../../../domain/cluster/feature-level.ts";
import type { ExecutionId } from "../../../domain/ids.ts";
import type { RecordedStep, Signal, StepKind } from "../../../domain/step.ts";
import type { ShardCommit } from "../../../ports/store.ts";
import type { SignalCommand } from "../../../ports/store-commands.ts";
import type { SignalOutcome, StoreSteps } from "../../../ports/store-steps.ts";
import { field, fieldsOf, ID_BYTES, idBytes, instantAt, instantBytes, pairsOf, u32 } from "../bytes.ts";
import type { RedisArgument, RedisConnection } from "../redis-connection.ts";

/** Codes of kinds in records. They never change, because stored records have them. */
const KINDS: readonly StepKind[] = ["RESULT", "CHECKPOINT", "WAIT"];
/** Places in a record of a handler, and in a signal. */
export const STEP = { attempt: 1, number: 5, at: 9, hasData: 15, data: 16 } as const;
export const SIGNAL = { at: 1, size: 1 + 6 + ID_BYTES, fields: 1 + 6 + ID_BYTES + 4 } as const;
/** Executions of one read, each with at most 4 MiB. */
const PER_READ = 8;
/** Level that programs need where handlers have records or signals. */
const LEVEL = `${levelOf("DURABLE_STEPS")}`;

/** See StoreSteps. */
export function steps(reads: RedisConnection, writes: RedisConnection): StoreSteps {
  return {
    read: async (ids) => {
      const all = await readHashes(reads, "s", ids, (name, record) => stepOf(name, record));
      for (const records of all.values()) records.sort(inOrder);
      return all;
    },
    readSignals: async (ids) => {
      const all = await readHashes(reads, "g", ids, (name, record) => signalOf(name, record));
      for (const signals of all.values()) signals.sort((a, b) => a.at - b.at);
      return all;
    },
    addSignal: (...asked) => addSignal(writes, ...asked),
  };
}

/** Arguments of the records of one shard, as `stepping.read` of the library takes them. */
export function stepArguments({ steps: written }: Pick<ShardCommit, "steps">): RedisArgument[] {
  const args = written.flatMap(({ executionId, signalId = "", ...step }) => {
    return [idBytes(executionId), step.name, recordOf(step), signalId];
  });
  return [`${written.length}`, LEVEL, ...args];
}

/** Weight of the records of one shard in a call. */
export function stepWeight({ steps: written }: Pick<ShardCommit, "steps">): { count: number; bytes: number } {
  return { count: written.length, bytes: written.reduce((sum, { data }) => sum + (data?.length ?? 0), 0) };
}

/** Bytes of a record of a handler. */
export function recordOf({ kind, attempt, number, at, data }: RecordedStep): Buffer {
  const head = [Buffer.from([KINDS.indexOf(kind)]), u32(attempt), u32(number), instantBytes(at)];
  return Buffer.concat([...head, Buffer.from([data === null ? 0 : 1]), data ?? Buffer.alloc(0)]);
}

/** The record of a handler, of its name and bytes. */
export function stepOf(name: string, record: Buffer): RecordedStep {
  return {
    ...{ name, kind: KINDS[record[0] as number] as StepKind },
    ...{ attempt: record.readUInt32BE(STEP.attempt), number: record.readUInt32BE(STEP.number) },
    ...{
      at: instantAt(record, STEP.at) as number,
      data: record[STEP.hasData] === 0 ? null : record.subarray(STEP.data),
    },
  };
}

function inOrder(a: RecordedStep, b: RecordedStep): number {
  return a.attempt - b.attempt || a.number - b.number || (a.name < b.name ? -1 : 1);
}

/** The signal of a field of the hash; null: it is none, or a step has consumed it. */
function signalOf(name: string, record: Buffer): Signal | null {
  if (name[0] !== "s" || record[0] !== "O".charCodeAt(0)) return null;
  const parts = fieldsOf(record, SIGNAL.fields, record.length);
  const at = instantAt(record, SIGNAL.at) as number;
  return { id: name.slice(1), name: String(parts.get("n")), data: parts.get("d") ?? null, at };
}

/** Rows of hashes by execution. Executions without a row are left out. */
async function readHashes<Row>(
  db: RedisConnection,
  prefix: string,
  ids: readonly ExecutionId[],
  rowOf: (name: string, record: Buffer) => Row | null,
): Promise<Map<ExecutionId, Row[]>> {
  const found = new Map<ExecutionId, Row[]>();
  const distinct = [...new Set(ids)];
  for (let from = 0; from < distinct.length; from += PER_READ) {
    const part = distinct.slice(from, from + PER_READ);
    const keys = part.map((id) => db.key(Buffer.concat([Buffer.from(prefix), idBytes(id)])));
    const hashes = await db.call(keys.map((key) => ["HGETALL", key]));
    for (const [i, id] of part.entries()) {
      const pairs = pairsOf(hashes[i] as Buffer[]);
      const rows = pairs.map(([name, record]) => rowOf(String(name), record)).filter((row) => row !== null);
      if (rows.length > 0) found.set(id, rows);
    }
  }
  return found;
}

/** Digest by which a repeated signal is known. */
export function signalDigest(name: string, data: Uint8Array | null): Buffer {
  const digest = createHash("sha256").update(`${name}\u0000${data === null ? "" : "d"}`);
  return (data === null ? digest : digest.update(data)).digest().subarray(0, ID_BYTES);
}

/** Part of the record of an open signal. */
export function signalContent(name: string, data: Uint8Array | null): Buffer {
  return Buffer.concat([field("n", name), ...(data === null ? [] : [field("d", Buffer.from(data))])]);
}

async function addSignal(
  db: RedisConnection,
  executionId: ExecutionId,
  { id, name, data, at }: Signal,
  command: SignalCommand,
): Promise<SignalOutcome> {
  const run = command.ofNode?.run;
  const answer = String(
    await db.durably("ms_signal", [
      ...[idBytes(executionId), run === undefined ? "" : idBytes(run), id, `${Math.floor(at)}`],
      ...[signalDigest(name, data), signalContent(name, data), `${data?.length ?? 0}`],
      ...[`${SIGNALS_OPEN_MAX}`, `${SIGNALS_OPEN_MAX_BYTES}`, LEVEL],
      ...[`${command.shard}`, command.id, JSON.stringify(command)],
    ]),
  );
  const time = Number(answer.slice(1));
  if (answer[0] === "A") return { kind: "ACCEPTED", at: time };
  if (answer[0] === "R") return { kind: "REPEATED", at: time };
  return { kind: OUTCOMES[answer as keyof typeof OUTCOMES] };
}

const OUTCOMES = { I: "ID_REUSED", M: "TOO_MANY", F: "FINAL", U: "UNKNOWN" } as const;
