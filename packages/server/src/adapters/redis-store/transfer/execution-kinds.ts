import { MAP_ITEMS_MAX } from "@mainspring/contract/limits";
import { isNode, isRun, RUN_NODE } from "../../../domain/execution.ts";
import { type MovedExecution, SMALL_PAYLOAD_MAX, type TransferRows } from "../../../ports/store-transfer.ts";
import { payloadName, readBodies, resultName } from "../bodies.ts";
import { fieldsOf, ID_BYTES, idBytes, idOf, instantAt, instantBytes, NO_BYTES, pairsOf, u32 } from "../bytes.ts";
import { recordOf, SIGNAL, signalContent, signalDigest, stepOf } from "../intake/steps.ts";
import { flowText, type Kind, kindText } from "../kinds.ts";
import { indexOf } from "../letters/letter-lists.ts";
import { readRows } from "../owner-reads.ts";
import { isInline, type StoredExecution } from "../record.ts";
import { keyOf } from "../recurring/job-rows.ts";
import { movedRecord } from "../recurring/later-record.ts";
import type { RedisAnswer, RedisCommand, RedisConnection } from "../redis-connection.ts";
import { unfitInstant } from "./job-kinds.ts";
import { fill, type KindInRedis, type Place, send } from "./kind.ts";
import { idsBehind, namesOf } from "./scan.ts";

export const executions: KindInRedis<"executions"> = {
  rows: async function* (place) {
    for await (const ids of idsBehind(place.db, "e", "string"))
      for (let from = 0; from < ids.length; from += ROWS) {
        const rows = await readExecutions(place, ids.slice(from, from + ROWS));
        if (rows.length > 0) yield rows;
      }
  },
  write: async ({ db, kinds }, rows) => {
    const numbers = await kinds.numbersOf(rows.flatMap((row) => [flowText(row), kindText(row.tenant, row)]));
    const results = rows.flatMap(({ id, attempt, result }): RedisCommand[] =>
      result === null || isInline(result) ? [] : [["SET", db.key(resultName(id, attempt)), Buffer.from(result)]],
    );
    await send(db, results);
    const args = rows.map((row, i) => {
      const record = recordOfMoved(row, numbers[2 * i] as number, numbers[2 * i + 1] as number);
      const ids = Buffer.concat([idBytes(row.id), idBytes(row.jobId)]);
      return [ids, record, row.tenant, row.isSettled ? "S" : ""];
    });
    await fill(db, "ms_fill_executions", args);
  },
  unfit: ({ dueAt, scheduledAt, createdAt, updatedAt, startedAt, finishedAt, attemptStartedAt, policy, item }) => {
    if ((item ?? 0) >= MAP_ITEMS_MAX) return `${item} is no item of a map`;
    const instants = [dueAt, scheduledAt, createdAt, updatedAt, startedAt, finishedAt, attemptStartedAt];
    return unfitInstant(...instants, policy.startBefore);
  },
};

/** Executions of one portion. Each may have a result of 1 MiB. */
const ROWS = 100;

async function readExecutions({ db, kinds }: Place, ids: readonly string[]): Promise<MovedExecution[]> {
  const stored = (await readRows(db, ids)).filter((row) => row !== null);
  const kindOf = await kinds.kindsOf(stored.map(({ kind }) => kind));
  const open = await openLetters(db, stored);
  const rows: MovedExecution[] = [];
  for (const row of stored) rows.push(await movedExecution(db, row, kindOf.get(row.kind) as Kind, open));
  return rows;
}

function recordOfMoved(row: MovedExecution, flow: number, kind: number): Buffer {
  const { lane, payload, payloadBytes, node, item, branch, steps, ...rest } = row;
  const place = { handler: row.handler, ...(node !== null && { node }) };
  const ofNode = isNode(place) ? { ofNode: { run: row.jobId, node: node as number, item } } : {};
  return movedRecord({
    ...{ ...rest, ...ofNode, flow, kind, laneHash: lane, isRun: isRun(place) },
    ...{ payload: payload ?? payloadBytes, steps: steps ?? undefined },
    ...(branch !== null && { branch }),
  });
}

/** Ids of dead letters among the executions that are not settled. */
async function openLetters(db: RedisConnection, rows: readonly StoredExecution[]): Promise<Set<string>> {
  const dead = rows.filter(({ state, ofNode }) => state === "DEAD" && ofNode === null);
  const scores = await db.call(dead.map(({ id, flow }) => ["ZSCORE", db.key(indexOf(flow)), idBytes(id)]));
  return new Set(dead.filter((_, i) => scores[i] !== null).map(({ id }) => id));
}

async function movedExecution(
  db: RedisConnection,
  row: StoredExecution,
  kind: Kind,
  open: ReadonlySet<string>,
): Promise<MovedExecution> {
  const { id, jobId, ofNode } = row;
  const { tenant, pool, handler, requires, priority, concurrencyLimit } = kind;
  const { policy, ...candidate } = row.candidate(kind);
  const { trigger, retryOf, startedAt, finishedAt, updatedAt } = row.summary(kind);
  const isPlain = ofNode === null && !row.isRun;
  return {
    ...{ id, jobId, tenant, shard: row.shard, pool, handler, requires, priority, concurrencyLimit, policy },
    ...{ concurrencyKey: row.concurrencyKey, jobVersion: row.jobVersion, lane: row.lane, rank: row.rank },
    ...{ dueAt: row.dueAt, scheduledAt: row.scheduledAt, createdAt: row.createdAt, updatedAt, startedAt, finishedAt },
    ...{ attemptStartedAt: row.attemptStartedAt, payloadBytes: candidate.payloadBytes },
    payload: isPlain ? await smallPayload(db, row, candidate.payloadBytes) : null,
    ...{ attempt: row.attempt, failures: candidate.failures, lost: candidate.lost, state: row.state, queue: row.queue },
    ...{ trigger, uniqueKey: row.ownUniqueKey, reason: row.text("r"), workerId: row.text("w"), gateway: row.text("g") },
    ...{ error: row.error, attempts: row.attempts, result: await resultOf(db, row), retryOf },
    isSettled: row.state === "DEAD" && ofNode === null && !open.has(id),
    ...{ steps: row.steps, node: ofNode?.node ?? (row.isRun ? RUN_NODE : null), item: ofNode?.item ?? null },
    branch: row.branch,
  };
}

async function smallPayload(db: RedisConnection, row: StoredExecution, bytes: number): Promise<Buffer | null> {
  const { payload, jobId, jobVersion } = row;
  if (typeof payload !== "number") return payload;
  if (bytes > SMALL_PAYLOAD_MAX) return null;
  return (await readBodies(db, [payloadName(jobId, jobVersion)]))[0] ?? null;
}

async function resultOf(db: RedisConnection, { id, result }: StoredExecution): Promise<Buffer | null> {
  if (typeof result !== "number") return result;
  return (await readBodies(db, [resultName(id, result)]))[0] ?? null;
}

export const steps: KindInRedis<"steps"> = {
  rows: async function* ({ db }) {
    for await (const ids of idsBehind(db, "s", "hash")) {
      const there = await areThere(db, ids);
      for (const executionId of ids.filter((id) => there.has(id))) {
        const [fields] = (await db.call([["HGETALL", db.key(keyOf("s", executionId))]])) as [Buffer[]];
        const rows = pairsOf(fields).map(([name, record]) => ({ executionId, ...stepOf(String(name), record) }));
        if (rows.length > 0) yield rows;
      }
    }
  },
  write: ({ db }, rows) =>
    send(
      db,
      rows.map(({ executionId, ...step }) => ["HSET", db.key(keyOf("s", executionId)), step.name, recordOf(step)]),
    ),
  unfit: ({ at }) => unfitInstant(at),
};

/** Executions that exist. Copies of records and signals for an execution that is not written yet have names of the same form. */
async function areThere(db: RedisConnection, ids: readonly string[]): Promise<Set<string>> {
  const found: RedisAnswer[] = await db.call(ids.map((id) => ["EXISTS", db.key(keyOf("e", id))]));
  return new Set(ids.filter((_, i) => found[i] === 1));
}

export const signals: KindInRedis<"signals"> = {
  rows: async function* ({ db }) {
    const runs = await runsOfSignals(db);
    for await (const ids of idsBehind(db, "g", "hash")) {
      const there = await areThere(db, ids);
      for (const executionId of ids.filter((id) => there.has(id) || runs.has(id))) {
        const [fields] = (await db.call([["HGETALL", db.key(keyOf("g", executionId))]])) as [Buffer[]];
        const own = pairsOf(fields).filter(([field]) => field[0] === SIGNAL_FIELD);
        const run = runs.get(executionId) ?? null;
        if (own.length > 0)
          yield own.map(([field, record]) => movedSignal(executionId, run, String(field).slice(1), record));
      }
    }
  },
  write: async ({ db }, rows) => {
    for (const row of rows) await writeSignal(db, row);
  },
  unfit: ({ at }) => unfitInstant(at),
};

const SIGNAL_FIELD = "s".charCodeAt(0);

/** Runs of the nodes to which signals were sent by name. */
async function runsOfSignals(db: RedisConnection): Promise<Map<string, string>> {
  const runs = new Map<string, string>();
  for await (const names of namesOf(db, `gr${"?".repeat(ID_BYTES)}`, "set"))
    for (const name of names) {
      const [nodes] = (await db.call([["SMEMBERS", db.key(name)]])) as [Buffer[]];
      for (const node of nodes) runs.set(idOf(node), idOf(name, 2));
    }
  return runs;
}

function movedSignal(executionId: string, run: string | null, id: string, record: Buffer): TransferRows["signals"] {
  const isTaken = record[0] !== "O".charCodeAt(0);
  const parts = isTaken ? new Map<string, Buffer>() : fieldsOf(record, SIGNAL.fields, record.length);
  const contentDigest = record.toString("base64", SIGNAL.at + 6, SIGNAL.size);
  const at = instantAt(record, SIGNAL.at) as number;
  return {
    executionId,
    id,
    at,
    run,
    isTaken,
    name: String(parts.get("n") ?? ""),
    data: parts.get("d") ?? null,
    contentDigest,
  };
}

/** Writes a signal, and the number, the bytes and the newest time of those that are open. */
async function writeSignal(db: RedisConnection, signal: TransferRows["signals"]): Promise<void> {
  const { executionId, id, at, run, isTaken, name, data } = signal;
  const key = db.key(keyOf("g", executionId));
  const [counts] = (await db.call([["HGET", key, "#"]])) as [Buffer | null];
  const [open = 0, bytes = 0, newest = 0] = String(counts ?? "0 0 0")
    .split(" ")
    .map(Number);
  const size = isTaken ? 0 : (data?.length ?? 0);
  const digest = signal.contentDigest === null ? signalDigest(name, data) : Buffer.from(signal.contentDigest, "base64");
  const content = isTaken ? NO_BYTES : signalContent(name, data);
  const record = Buffer.concat([Buffer.from(isTaken ? "T" : "O"), instantBytes(at), digest, u32(size), content]);
  await send(db, [
    ["HSET", key, `s${id}`, record, "#", `${open + (isTaken ? 0 : 1)} ${bytes + size} ${Math.max(newest, at)}`],
    ...(run === null ? [] : [["SADD", db.key(keyOf("gr", run)), idBytes(executionId)] as const]),
  ]);
}
