import type { Candidate } from "../../../domain/execution.ts";
import type { Epoch, EpochMs, Incarnation, ShardId, WorkerId } from "../../../domain/ids.ts";
import type { InFlightRow, JournalRef, Recovered } from "../../../ports/store.ts";
import { readCommands } from "../cluster/commands.ts";
import { QUEUE_CODES } from "../connection/codes.ts";
import type { Connections } from "../connection/connections.ts";
import { ofShards, shardMask } from "../connection/shard-mask.ts";
import { load } from "../executions/reads.ts";
import { keyedRuns, openRuns } from "../workflows/run-reads.ts";
import { CANDIDATE_COLUMNS, candidateFrom } from "./candidates.ts";
import { journalEntries } from "./journal.ts";

export const READ_HELD = `
  SELECT ${CANDIDATE_COLUMNS}, e.worker_id, e.gateway, e.attempt_started_at FROM executions e
  WHERE e.queue = ${QUEUE_CODES.HELD} AND ${ofShards("e.shard", "$1")}`;

const READ_JOURNALS = `
  SELECT shard, epoch, seq, entries FROM journal j WHERE ${ofShards("j.shard", "$1")} ORDER BY shard, epoch, seq`;

/** Largest number of commands to read; the new owner's polls of the inbox read the rest. */
const COMMANDS_LIMIT = 10_000;

/** Largest number of workflow runs to read; sweeps find the rest. */
const RUNS_LIMIT = 100;

interface OpenJournal {
  shard: ShardId;
  ref: JournalRef;
  entries: ReturnType<typeof journalEntries>;
}

/** See Store.recover. Nobody else writes to these shards meanwhile, so the reads need no common snapshot. */
export async function recover(db: Connections, shards: readonly ShardId[]): Promise<Recovered> {
  const open = await readJournals(db, shards);
  const ids = new Set(open.flatMap(({ entries }) => entries.map((entry) => entry.id)));
  const rows = new Map((await load(db, [...ids])).map((row) => [row.id, row]));
  const journals: Recovered["journals"] = [];
  const assigned: InFlightRow[] = [];
  for (const { shard, ref, entries } of open) {
    const before = assigned.length;
    for (const { id, ...assignment } of entries) {
      const row = rows.get(id);
      // A row that is final, or that has this attempt or a later one, has settled the journal entry.
      if (row === undefined || row.attempt >= assignment.attempt) continue;
      assigned.push({ row, ...assignment, attemptStartedAt: null, journal: ref });
    }
    journals.push({ shard, ref, unsettled: assigned.length - before });
  }
  const inFlight = assigned.concat(await readHeld(db, shards));
  const commands = await readCommands(db, shards, new Set(), COMMANDS_LIMIT);
  const runs = (await openRuns(db, shards, null, RUNS_LIMIT)).map(({ id }) => id);
  if (runs.length === 0) return { inFlight, journals, commands };
  const keyed = await keyedRuns(db, shards);
  return { inFlight, journals, commands, runs, ...(keyed.length > 0 && { keyedRuns: keyed }) };
}

async function readJournals(db: Connections, shards: readonly ShardId[]): Promise<OpenJournal[]> {
  const rows = await db.run("read", { name: "read_journals", text: READ_JOURNALS, values: [shardMask(shards)] });
  return rows.map((row) => {
    const [shard, epoch, seq, entries] = row as [ShardId, Epoch, number, string];
    return { shard, ref: { epoch, seq }, entries: journalEntries(entries) };
  });
}

async function readHeld(db: Connections, shards: readonly ShardId[]): Promise<InFlightRow[]> {
  const rows = await db.run("read", { name: "read_held", text: READ_HELD, values: [shardMask(shards)] });
  return rows.map((columns) => {
    const row: Candidate = candidateFrom(columns);
    const [workerId, gateway, startedAt] = columns.slice(-3) as [WorkerId, Incarnation, EpochMs | null];
    // The row does not store the time of the assignment, so the start, which came a moment later, stands in for it.
    const assignedAt = startedAt ?? row.dueAt;
    return { row, attempt: row.attempt, workerId, gateway, assignedAt, attemptStartedAt: startedAt, journal: null };
  });
}
