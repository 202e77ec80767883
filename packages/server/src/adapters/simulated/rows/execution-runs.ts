import type { EpochMs } from "../../../domain/ids.ts";
import {
  added,
  type BeginOutcome,
  type Chunk,
  type ChunkOutcome,
  type ExecutionRun,
  type Held,
  type HeldRun,
  type NewExecutionRun,
  OPEN_RUNS_MAX,
} from "../../../ports/store-execution-runs.ts";
import type { Listing, Page } from "../../../ports/store-queries.ts";
import { byText } from "../sorted-list.ts";
import type { StoreData } from "../store-data.ts";
import { listing } from "./queries.ts";

/** A run as the store keeps it. */
export interface StoredExecutionRun extends HeldRun {
  idempotencyKey: string | null;
  heldUntil: EpochMs;
}

export function begin(data: StoreData, asked: NewExecutionRun): BeginOutcome {
  const { idempotencyKey, ...run } = asked;
  const own = [...data.executionRuns.values()].filter((stored) => stored.run.tenant === run.tenant);
  const known = own.find(
    (stored) => stored.runId === run.runId || (idempotencyKey !== null && stored.idempotencyKey === idempotencyKey),
  );
  if (known !== undefined) {
    const isSame = known.run.action === run.action && known.run.filter === run.filter;
    return isSame ? { kind: "KNOWN", run: known.run } : { kind: "KEY_REUSED" };
  }
  if (own.filter((stored) => stored.run.finishedAt === null).length >= OPEN_RUNS_MAX) return { kind: "TOO_MANY" };
  const begun: ExecutionRun = { ...run, done: 0, refusals: {}, isStopped: false, finishedAt: null };
  const place = { turn: 0, heldUntil: 0, marker: null, chunk: null };
  data.executionRuns.set(run.runId, { ...place, runId: run.runId, run: begun, idempotencyKey });
  return { kind: "BEGUN", run: begun };
}

export function get(data: StoreData, tenant: string, runId: string): ExecutionRun | null {
  const stored = data.executionRuns.get(runId);
  return stored === undefined || stored.run.tenant !== tenant ? null : stored.run;
}

export function list(data: StoreData, tenant: string, { after, limit }: Page): Listing<ExecutionRun> {
  const runs = [...data.executionRuns.values()]
    .map(({ run }) => run)
    .filter((run) => run.tenant === tenant && (after === null || run.runId < after))
    .sort((a, b) => byText(b.runId, a.runId));
  return listing(runs, limit, ({ runId }) => runId);
}

/** @returns whether the run had not ended */
export function stop(data: StoreData, tenant: string, runId: string, at: EpochMs): boolean {
  const stored = data.executionRuns.get(runId);
  if (stored === undefined || stored.run.tenant !== tenant || stored.run.finishedAt !== null) return false;
  data.executionRuns.set(runId, { ...stored, run: { ...stored.run, isStopped: true, finishedAt: at } });
  return true;
}

export function open(data: StoreData, now: EpochMs): string[] {
  return [...data.executionRuns.values()]
    .filter(({ run, heldUntil }) => run.finishedAt === null && heldUntil <= now)
    .sort((a, b) => a.heldUntil - b.heldUntil || byText(a.runId, b.runId))
    .slice(0, 100)
    .map(({ runId }) => runId);
}

export function take(data: StoreData, runId: string, now: EpochMs, heldUntil: EpochMs): HeldRun | null {
  const stored = data.executionRuns.get(runId);
  if (stored === undefined || stored.run.finishedAt !== null || stored.heldUntil > now) return null;
  const taken = { ...stored, turn: stored.turn + 1, heldUntil };
  data.executionRuns.set(runId, taken);
  const { turn, run, marker, chunk } = taken;
  return { runId, turn, run, marker, chunk };
}

export function plan(data: StoreData, { runId, turn }: Held, chunk: Chunk, heldUntil: EpochMs): boolean {
  const stored = data.executionRuns.get(runId);
  if (stored === undefined || stored.turn !== turn || stored.run.finishedAt !== null) return false;
  data.executionRuns.set(runId, { ...stored, chunk, heldUntil });
  return true;
}

export function account(
  data: StoreData,
  { runId, turn }: Held,
  { done, refusals, next }: ChunkOutcome,
  at: EpochMs,
  isOver: boolean,
): boolean {
  const stored = data.executionRuns.get(runId);
  if (stored === undefined || stored.turn !== turn || stored.chunk === null) return false;
  const { run } = stored;
  const finishedAt = run.finishedAt ?? (isOver ? at : null);
  const counted = { ...run, done: run.done + done, refusals: added(run.refusals, refusals), finishedAt };
  data.executionRuns.set(runId, { ...stored, marker: next, chunk: null, run: counted });
  return run.finishedAt === null;
}
