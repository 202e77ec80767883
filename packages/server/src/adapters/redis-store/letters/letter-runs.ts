import type { EpochMs, ExecutionId } from "../../../domain/ids.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { Advance, DeadLetterRun, NewDeadLetterRun } from "../../../ports/store-dead-letters.ts";
import { behind, idBytes, idOf, instantBytes } from "../bytes.ts";
import type { RedisConnection } from "../redis-connection.ts";
import { FLOWS, indexOf, isAsked } from "./letter-lists.ts";
import { type Letter, letterArguments, readLetters } from "./letters.ts";
import type { LetterParts } from "./settle-letters.ts";

/** Time for which a finished run stays readable, in ms. */
const RUN_KEPT_MS = 7 * 86_400_000;
/** Letters that one call examines, and open runs of one answer. */
const EXAMINED = 200;
const OPEN_MAX = 100;

/** Numbers of the flows of a tenant that have dead letters; pool: of this pool only. */
export type FlowsOf = (tenant: string, pool: string | undefined) => Promise<number[]>;

interface StoredRun extends DeadLetterRun {
  /** Id of the letter behind which the run continues; empty: it begins. */
  marker: string;
}

/** See StoreDeadLetters.begin. */
export async function beginRun(
  { trail }: LetterParts,
  run: NewDeadLetterRun,
  note: AuditNote | undefined,
): Promise<void> {
  const args = [run.runId, JSON.stringify(run), `${run.createdAt - RUN_KEPT_MS}`];
  await trail.call("ms_begin_letters", args, note === undefined ? [] : [note], (answer) => answer === 1);
}

/** See StoreDeadLetters.openRuns. */
export async function openRuns(db: RedisConnection): Promise<string[]> {
  const [ids] = await db.call([["ZRANGE", db.key("dro"), "-", "+", "BYLEX", "LIMIT", "0", `${OPEN_MAX}`]]);
  return (ids as Buffer[]).map(String);
}

/** See StoreDeadLetters.readRun. */
export async function readRun(db: RedisConnection, tenant: string, runId: string): Promise<DeadLetterRun | null> {
  const run = await stored(db, runId);
  if (run === null || run.tenant !== tenant) return null;
  const { marker: _, ...shown } = run;
  return shown;
}

async function stored(db: RedisConnection, runId: string): Promise<StoredRun | null> {
  const fields = ["run", "marker", "settled", "skipped", "finished"];
  const [answer] = await db.call([["HMGET", db.key(`dr${runId}`), ...fields]]);
  const [text, marker = "", settled, skipped, finished] = (answer as (Buffer | null)[]).map(String);
  if ((answer as (Buffer | null)[])[0] === null) return null;
  return {
    ...(JSON.parse(text as string) as NewDeadLetterRun),
    ...{ marker, settled: Number(settled), skipped: Number(skipped) },
    finishedAt: finished === "" ? null : Number(finished),
  };
}

/** See StoreDeadLetters.advance. The marker is compared, so of two nodes that read the same letters one writes. */
export async function advanceRun(
  parts: LetterParts & { flowsOf: FlowsOf },
  runId: string,
  newIds: readonly ExecutionId[],
  at: EpochMs,
): Promise<Advance | null> {
  const { db, isTelling } = parts;
  const run = await stored(db, runId);
  if (run === null || run.finishedAt !== null) return null;
  const { letters, marker, isOver } = await nextLetters(parts, run, newIds.length);
  const settling = { action: run.action, letters, newIds, at, isTelling: isTelling() };
  const args = [runId, run.marker, marker, isOver ? `${at}` : "", instantBytes(at)];
  const answer = await db.durably("ms_advance_letters", [...args, ...(await letterArguments(parts, settling))]);
  if (answer === null) return null;
  const outcomes = String(answer);
  const made = letters.flatMap((_, i) => (outcomes[i] === "S" ? [newIds[i] as ExecutionId] : []));
  return { made: run.action === "REPLAY" ? made : [], isOver };
}

/** The next letters of a run, at most `count`, among those that one call examines. */
async function nextLetters({ db, kinds, flowsOf }: LetterParts & { flowsOf: FlowsOf }, run: StoredRun, count: number) {
  const { tenant, filter, createdAt } = run;
  const ids = await idsBehind(db, await flowsOf(tenant, filter.pool), run.marker);
  const examined = ids.slice(0, EXAMINED);
  const letters: Letter[] = [];
  for (const letter of await readLetters(db, kinds, examined)) {
    if (letter === null || letter.row.createdAt >= createdAt) continue;
    if (isAsked(letter.row.summary(letter.kind), filter)) letters.push(letter);
    if (letters.length === count) return { letters, marker: letter.row.id, isOver: false };
  }
  return { letters, marker: examined.at(-1) ?? run.marker, isOver: ids.length <= EXAMINED };
}

/** Ids of the oldest letters behind a marker, ascending, one more than a call examines. */
async function idsBehind(db: RedisConnection, flows: readonly number[], marker: string): Promise<ExecutionId[]> {
  const from = marker === "" ? "-" : behind(idBytes(marker));
  const found: ExecutionId[] = [];
  for (let at = 0; at < flows.length; at += FLOWS) {
    const keys = flows.slice(at, at + FLOWS).map((flow) => db.key(indexOf(flow)));
    const pages = await db.call(
      keys.map((key) => ["ZRANGE", key, from, "+", "BYLEX", "LIMIT", "0", `${EXAMINED + 1}`]),
    );
    found.push(...pages.flatMap((members) => (members as Buffer[]).map((member) => idOf(member))));
    found.sort().splice(EXAMINED + 1);
  }
  return found;
}
