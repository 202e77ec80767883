import { type Epoch, type Incarnation, SHARD_COUNT, type ShardId } from "../../domain/ids.ts";
import type { InFlightRow, JournalEntry, Recovered, SeenShard, ShardHolder } from "../../ports/store.ts";
import type { Command } from "../../ports/store-commands.ts";
import type { KeyedRun } from "../../ports/store-runs.ts";
import { idOf } from "./bytes.ts";
import type { OwnerReads } from "./owner-reads.ts";
import type { StoredExecution } from "./record.ts";
import type { RedisAnswer, RedisConnection } from "./redis-connection.ts";
import { openRuns } from "./runs/open-runs.ts";

/** Largest number of commands to read at once; the rest is read when these have been applied. */
const COMMANDS_MAX = 10_000;
/** Open runs that a new owner is told of at once; its sweeps find the others. */
const RUNS_MAX = 100;
/** Commands of one call. */
const PER_CALL = 500;

/** See Store.readShards. */
export async function readShards(db: RedisConnection): Promise<ShardHolder[]> {
  const [answer] = await db.call([["HGETALL", db.key("sh")]]);
  const texts = (answer as Buffer[]).map(String);
  const holders = new Map(Array.from({ length: texts.length / 2 }, (_, i) => [Number(texts[2 * i]), texts[2 * i + 1]]));
  return Array.from({ length: SHARD_COUNT }, (_, shard) => {
    const [epoch = "0", owner = ""] = (holders.get(shard) ?? "0 ").split(" ");
    return { shard, epoch: Number(epoch), owner: owner === "" ? null : owner };
  });
}

/** See Store.takeOver. */
export async function takeOver(
  db: RedisConnection,
  shards: readonly SeenShard[],
  owner: Incarnation,
): Promise<(Epoch | null)[]> {
  const seen = shards.flatMap(({ shard, epoch, knownEpoch = epoch }) => [`${shard}`, `${epoch}`, `${knownEpoch}`]);
  const epochs = (await db.durably("ms_take_over", [owner, ...seen])) as Buffer[];
  return epochs.map((epoch) => (epoch.length === 0 ? null : Number(epoch)));
}

/** See Store.releaseShards. */
export async function releaseShards(
  db: RedisConnection,
  shards: readonly { shard: ShardId; epoch: Epoch }[],
): Promise<void> {
  const args = shards.flatMap(({ shard, epoch }) => [`${shard}`, `${epoch}`]);
  if (args.length > 0) await db.durably("ms_release", args);
}

/** See Store.recover. The caller owns the shards, so nothing of what this reads changes between the calls. */
export async function recover(db: RedisConnection, reads: OwnerReads, shards: readonly ShardId[]): Promise<Recovered> {
  const sorted = [...new Set(shards)].sort((a, b) => a - b);
  const journals: Recovered["journals"] = [];
  const [inFlight, held]: [InFlightRow[], InFlightRow[]] = [[], []];
  for (const shard of sorted) {
    for (const { ref, entries } of await readJournals(db, shard)) {
      const open = await openEntries(reads, entries);
      inFlight.push(...open.map(({ entry, row }) => ({ row, ...entry, attemptStartedAt: null, journal: ref })));
      journals.push({ shard, ref, unsettled: open.length });
    }
    held.push(...(await readHeld(db, reads, shard)));
  }
  const commands = await readCommands(db, sorted, new Set(), COMMANDS_MAX);
  const runs = (await openRuns(db, sorted, null, RUNS_MAX)).map(({ id }) => id);
  const keyedRuns = await readKeyedRuns(db, reads, sorted);
  return {
    ...{ inFlight: [...inFlight, ...held], journals, commands },
    ...(runs.length > 0 && { runs }),
    ...(keyedRuns.length > 0 && { keyedRuns }),
  };
}

/** Open runs that hold a place of their concurrency key. */
async function readKeyedRuns(db: RedisConnection, reads: OwnerReads, shards: readonly ShardId[]): Promise<KeyedRun[]> {
  const answers = await db.call(shards.map((shard) => ["SMEMBERS", db.key(`ok${shard}`)]));
  const ids = answers.flatMap((members) => (members as Buffer[]).map((bytes) => idOf(bytes))).sort();
  const rows = await reads.candidatesOf((await reads.rows(ids)).filter((row) => row !== null));
  return rows.map(({ id, shard, tenant, concurrencyKey, concurrencyLimit }) => {
    return { id, shard, tenant, concurrencyKey, concurrencyLimit };
  });
}

interface Journal {
  ref: { epoch: Epoch; seq: number };
  entries: JournalEntry[];
}

export async function readJournals(db: RedisConnection, shard: ShardId): Promise<Journal[]> {
  const [answer] = await db.call([["HGETALL", db.key(`jn${shard}`)]]);
  const texts = (answer as Buffer[]).map(String);
  const found = Array.from({ length: texts.length / 2 }, (_, i): Journal => {
    const [epoch = 0, seq = 0] = (texts[2 * i] as string).split("/").map(Number);
    return { ref: { epoch, seq }, entries: JSON.parse(texts[2 * i + 1] as string) as JournalEntry[] };
  });
  return found.sort((a, b) => a.ref.epoch - b.ref.epoch || a.ref.seq - b.ref.seq);
}

/** Entries whose attempts the rows do not know yet. */
async function openEntries(reads: OwnerReads, entries: readonly JournalEntry[]) {
  const rows = new Map((await reads.load(entries.map(({ id }) => id))).map((row) => [row.id, row]));
  return entries.flatMap(({ id, ...entry }) => {
    const row = rows.get(id);
    return row === undefined || row.attempt >= entry.attempt ? [] : [{ entry, row }];
  });
}

async function readHeld(db: RedisConnection, reads: OwnerReads, shard: ShardId): Promise<InFlightRow[]> {
  const [ids] = await db.call([["SMEMBERS", db.key(`h${shard}`)]]);
  const rows = await reads.rows((ids as Buffer[]).map((bytes) => idOf(bytes)).sort());
  const stored = rows.filter((row) => row !== null) as StoredExecution[];
  const candidates = await reads.candidatesOf(stored);
  return stored.map((row, i) => ({
    row: candidates[i] as InFlightRow["row"],
    attempt: row.attempt,
    workerId: row.text("w") ?? "",
    gateway: row.text("g") ?? "",
    // The row does not store the time of the assignment, so the start, which came a moment later, stands in for it.
    assignedAt: row.attemptStartedAt ?? row.dueAt,
    attemptStartedAt: row.attemptStartedAt,
    journal: null,
  }));
}

/** See Store.readCommands. */
export async function readCommands(
  db: RedisConnection,
  shards: readonly ShardId[],
  known: ReadonlySet<string>,
  limit: number,
): Promise<Command[]> {
  const found: { id: string; shard: ShardId }[] = [];
  for (const shard of new Set(shards)) {
    const last = `${known.size + limit}`;
    const [ids] = await db.call([["ZRANGE", db.key(`ci${shard}`), "-", "+", "BYLEX", "LIMIT", "0", last]]);
    found.push(...(ids as Buffer[]).map((id) => ({ id: String(id), shard })).filter(({ id }) => !known.has(id)));
  }
  found.sort((a, b) => (a.id < b.id ? -1 : 1));
  const first = found.slice(0, limit);
  const commands: Command[] = [];
  for (let from = 0; from < first.length; from += PER_CALL) {
    const part = first.slice(from, from + PER_CALL);
    const texts = await db.call(part.map(({ id, shard }) => ["HGET", db.key(`c${shard}`), id]));
    commands.push(...texts.flatMap(commandOf));
  }
  return commands;
}

function commandOf(text: RedisAnswer): Command[] {
  return text === null ? [] : [JSON.parse(String(text)) as Command];
}
