import type { Candidate } from "../../domain/execution.ts";
import type { Incarnation } from "../../domain/ids.ts";
import type { Bus } from "../../ports/bus.ts";
import type { HintedRow } from "../../ports/messages.ts";
import { atEndOfTurn, type Runtime } from "../../ports/runtime.ts";
import type { AcceptedJob, NewJob, NewRecurringJob, Submission, SubmitOutcome } from "../../ports/store.ts";
import type { NewRun } from "../../ports/store-jobs.ts";
import { type AnyJob, isWorkflow } from "../../ports/store-runs.ts";
import { candidateOf } from "./new-job.ts";

type TurnClock = Pick<Runtime, "defer" | "setTimer">;

/** Largest payload in a hint, in bytes; larger payloads are read from the store when they are needed. */
const PAYLOAD_BYTES_MAX = 4 * 1024;

/** Time that the owners' polls look ahead, in milliseconds. Owners need a hint for jobs that are due sooner. */
const LOOK_AHEAD_MS = 10_000;

/** Jobs that a commit really wrote, without replays of an earlier request and repeats of a held unique key. */
export function writtenJobs(submissions: readonly Submission[], outcomes: readonly SubmitOutcome[]): AnyJob[] {
  return submissions.flatMap(({ jobs }, index) => {
    const outcome = outcomes[index];
    if (outcome?.kind !== "ACCEPTED" || outcome.replayed) return [];
    const isWritten = (taken: AcceptedJob | undefined) =>
      taken?.deduplicated === false && taken.nameHeldBy === undefined;
    return jobs.filter((_, position) => isWritten(outcome.jobs[position]));
  });
}

/**
 * Number of jobs that owners learn of in one turn of the event loop, because an owner handles all of a turn at once.
 */
const JOBS_PER_TURN = 1_000;

/**
 * Tells the owners of new jobs about them, so that they need not be found.
 * @returns null: they have been told; else resolves when they were, some in each turn of the event loop
 */
export function sendHints(bus: Bus, jobs: readonly AnyJob[], runtime: TurnClock): Promise<void> | null {
  hintJobs(bus, jobs.slice(0, JOBS_PER_TURN));
  return jobs.length <= JOBS_PER_TURN ? null : hintInTurns(bus, jobs, runtime);
}

async function hintInTurns(bus: Bus, jobs: readonly AnyJob[], runtime: TurnClock): Promise<void> {
  for (let from = JOBS_PER_TURN; from < jobs.length; from += JOBS_PER_TURN) {
    await new Promise<void>((resolve) => atEndOfTurn(runtime, resolve));
    hintJobs(bus, jobs.slice(from, from + JOBS_PER_TURN));
  }
}

/** Sends hints about a few jobs to their owners. */
export function hintJobs(bus: Bus, jobs: readonly AnyJob[]): void {
  hintRows(
    bus,
    jobs.flatMap((job) => hintsOf(job)),
  );
  for (const job of jobs) if (job.executionId === null) hintPlan(bus, job);
}

/** Sends a hint about a further execution of a job. @param steps mark of its row */
export function hintRun(bus: Bus, run: NewRun, steps: Candidate["steps"]): void {
  const { row, payload } = hintOf(run);
  hintRows(bus, [{ row: steps === undefined ? row : { ...row, steps }, payload }]);
}

function hintPlan(bus: Bus, { jobId, shard, firstFireAt, createdAt }: NewRecurringJob): void {
  const node = bus.ownerOf(shard);
  if (node === null || firstFireAt > createdAt + LOOK_AHEAD_MS) return;
  bus.send({ node, role: "scheduler" }, { kind: "PLANNED", shard, jobId });
}

export function hintRows(bus: Bus, hints: readonly HintedRow[]): void {
  const byOwner = new Map<Incarnation, HintedRow[]>();
  for (const hint of hints) {
    const owner = bus.ownerOf(hint.row.shard);
    if (owner === null) continue;
    const rows = byOwner.get(owner);
    if (rows === undefined) byOwner.set(owner, [hint]);
    else rows.push(hint);
  }
  for (const [node, rows] of byOwner) bus.send({ node, role: "scheduler" }, { kind: "HINT", rows });
}

/** Executions of a job that may run soon: its own, or the first nodes of a workflow. */
function hintsOf(job: AnyJob): HintedRow[] {
  if (job.executionId === null) return [];
  if (!isWorkflow(job)) return [hintOf(job)];
  if (job.queue !== "OPEN") return [{ row: candidateOf(job), payload: null }];
  const payloads = new Map(job.payloads.map(({ node, payload }) => [node, payload]));
  return job.roots.map(({ row }) => ({ row, payload: smallCopy(payloads.get(row.node ?? 0) ?? null) }));
}

function hintOf(job: NewJob): HintedRow {
  return { row: candidateOf(job), payload: smallCopy(job.payload) };
}

/** A copy: the payload is a part of its request's body, which would be kept whole for as long as the job waits. */
function smallCopy(payload: Uint8Array | null): Uint8Array | null {
  return payload !== null && payload.length <= PAYLOAD_BYTES_MAX ? new Uint8Array(payload) : null;
}
