import { SIGNALS_OPEN_MAX, SIGNALS_OPEN_MAX_BYTES } from "@mainspring/contract/limits";
import type { EpochMs, ExecutionId } from "../../../domain/ids.ts";
import type { Signal } from "../../../domain/step.ts";
import type { SignalCommand } from "../../../ports/store-commands.ts";
import type { SignalOutcome } from "../../../ports/store-steps.ts";
import { insertCommand } from "../cluster/commands.ts";
import { uuids } from "../connection/arrays.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { lockKey } from "../schema/locks.ts";

/** Signals to executions. `Store.commit` marks those that steps consume. */

/** Lock while a signal is added to an execution. Any number works that nothing else in the database uses. */
const LOCK = `SELECT pg_advisory_xact_lock(${lockKey("hashtextextended($1, 7303014006)")})`;

/** @param id parameter: id of the execution whose row says whether signals are taken */
const look = (id: string) => `
  SELECT e.queue, s.at, s.name = $3 AND s.data IS NOT DISTINCT FROM $4, o.number, o.bytes, o.newest
  FROM executions e LEFT JOIN signals s ON s.execution_id = $1 AND s.id = $2
  CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE taken_by IS NULL)::int4 AS number, max(at) AS newest,
      coalesce(sum(octet_length(data)) FILTER (WHERE taken_by IS NULL), 0)::int4 AS bytes
    FROM signals WHERE execution_id = $1
  ) o
  WHERE e.id = ${id}`;
const LOOK = look("$1");
/** For a node without an execution, its run is asked. */
const LOOK_AT_RUN = look("$5");

type Look = [
  queue: number,
  at: EpochMs | null,
  isSame: boolean | null,
  number: number,
  bytes: number,
  newest: EpochMs | null,
];

const ADD = "INSERT INTO signals (execution_id, id, name, data, at, run) VALUES ($1, $2, $3, $4, $5, $6)";

/** See StoreSteps.addSignal. Signals of one execution come one after the other, so that their times are their order. */
export async function addSignal(
  session: Session,
  executionId: ExecutionId,
  signal: Signal,
  command: SignalCommand,
): Promise<SignalOutcome> {
  const { id, name, data } = signal;
  await session.run({ text: LOCK, values: [executionId] });
  const values = [executionId, id, name, bytes(data)];
  const run = command.ofNode?.run ?? null;
  const [own] = await session.run({ text: LOOK, values });
  const [row] =
    own === undefined && run !== null ? await session.run({ text: LOOK_AT_RUN, values: [...values, run] }) : [own];
  if (row === undefined) return { kind: "UNKNOWN" };
  const [queue, knownAt, isSame, open, openBytes, newest] = row as Look;
  if (knownAt !== null) return isSame === true ? { kind: "REPEATED", at: knownAt } : { kind: "ID_REUSED" };
  if (queue === QUEUE_CODES.NONE) return { kind: "FINAL" };
  const isFull = open >= SIGNALS_OPEN_MAX || openBytes + (data?.length ?? 0) > SIGNALS_OPEN_MAX_BYTES;
  if (isFull) return { kind: "TOO_MANY" };
  const at = Math.max(signal.at, (newest ?? 0) + 1);
  await session.run({ text: ADD, values: [executionId, id, name, bytes(data), at, run] });
  await insertCommand(session, command);
  return { kind: "ACCEPTED", at };
}

export const READ_SIGNALS = `
  SELECT s.execution_id, s.id, s.name, s.data, s.at FROM (SELECT unnest($1::uuid[]) AS id) w
  JOIN signals s ON s.execution_id = w.id WHERE s.taken_by IS NULL ORDER BY s.execution_id, s.at`;

/** Number of executions that one statement reads. Each of them has at most 4 MiB of signals, and of records. */
const CHUNK = 8;

/**
 * Values of the statements that read the signals or the records of these executions. An execution that occurs twice is
 * read once: its statement would bring each signal twice, and two steps would consume one signal.
 */
export function chunksOf(ids: readonly ExecutionId[]): [string][] {
  const distinct = [...new Set(ids)];
  const chunks: [string][] = [];
  for (let from = 0; from < distinct.length; from += CHUNK)
    chunks.push([uuids(distinct.slice(from, from + CHUNK), (id) => id)]);
  return chunks;
}

type SignalRow = [executionId: ExecutionId, id: string, name: string, data: Uint8Array | null, at: EpochMs];

/** See StoreSteps.readSignals. */
export async function readSignals(db: Connections, ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Signal[]>> {
  const found = new Map<ExecutionId, Signal[]>();
  for (const values of chunksOf(ids)) {
    for (const row of await db.run("read", { name: "read_signals", text: READ_SIGNALS, values })) {
      const [executionId, id, name, data, at] = row as SignalRow;
      const signals = found.get(executionId) ?? [];
      found.set(executionId, signals);
      signals.push({ id, name, data, at });
    }
  }
  return found;
}

function bytes(data: Uint8Array | null): Buffer | null {
  return data === null ? null : Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
