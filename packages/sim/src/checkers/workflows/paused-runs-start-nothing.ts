import type { Committed, ExecutionRow } from "@mainspring/server/testing";
import { EPOCH_MS } from "../../sim-process.ts";
import { type Checker, Violation } from "../checker.ts";
import type { Quiet } from "../quiet.ts";
import { addedRows, isChildRun, isOver, type Ledger } from "../recurring/ledger.ts";

/** Time within which a node of a run that is not paused leaves the queue PARKED while no fault is active, in milliseconds. */
const BOUND_MS = 20_000;

interface Pause {
  isPaused: boolean;
  /** Simulated time of the last resume, or of the end of the pause by another way; -Infinity: none. */
  untilMs: number;
}

/**
 * From the commit that pauses a run until the one that resumes it, no commit creates a node of it, and none assigns one, or
 * opens a sub-workflow, that has no concurrency key. A pause is confirmed only when it is durable, and no node stays parked
 * after it.
 */
export function pausedRunsStartNothing(ledger: Ledger, quiet: Quiet): Checker {
  const pauses = new Map<string, Pause>();
  const runOf = new Map<string, string>();
  /** Commands that pause runs, with the times at which they were given. */
  const asked = new Map<string, { run: string; atMs: number }>();
  const note = (rows: readonly ExecutionRow[]) => {
    for (const { id, node, job } of rows)
      if (node !== null && node >= 0 && job.definition.concurrencyKey === null) runOf.set(id, job.jobId);
  };
  const isPaused = (run: string | undefined) => run !== undefined && pauses.get(run)?.isPaused === true;
  const turn = (run: string, paused: boolean, atMs: number) => {
    const before = pauses.get(run) ?? { isPaused: false, untilMs: Number.NEGATIVE_INFINITY };
    const untilMs = before.isPaused && !paused ? atMs : before.untilMs;
    pauses.set(run, { isPaused: paused, untilMs });
  };
  const committed = ({ asked: parts, at, outcome, applied, nodes, runs }: Committed) => {
    const wasPaused = new Set(parts.assigned.flatMap(({ id }) => (isPaused(runOf.get(id)) ? [id] : [])));
    for (const { after } of runs) turn(after.run, after.paused, at - EPOCH_MS);
    for (const { id, attempt } of parts.assigned) {
      const run = runOf.get(id);
      if (!wasPaused.has(id) || !isPaused(run) || outcome.missed.includes(id)) continue;
      throw new Violation(`attempt ${attempt} of ${id} was assigned although its run ${run} is paused`);
    }
    for (const { before, after } of applied) {
      const isOpened = isChildRun(after) && after.queue === "OPEN" && before.queue !== "OPEN";
      if (isOpened && after.job.definition.concurrencyKey === null && isPaused(after.job.jobId))
        throw new Violation(`the sub-workflow ${after.id} was opened although its run ${after.job.jobId} is paused`);
    }
    for (const { id, job } of nodes) {
      if (isPaused(job.jobId)) throw new Violation(`${id} was created although its run ${job.jobId} is paused`);
    }
  };
  return {
    name: "paused runs start nothing",
    saw(event) {
      if (event.kind === "WENT_BACK") {
        pauses.clear();
        asked.clear();
        for (const { run, paused } of event.runs) turn(run, paused, event.at - EPOCH_MS);
        note(event.rows);
      }
      if (event.kind === "COMMANDED" && event.command.kind === "PAUSE_RUN")
        asked.set(event.command.id, { run: event.command.executionId, atMs: event.at - EPOCH_MS });
      if (event.kind === "COMMITTED" && event.outcome.status === "APPLIED") committed(event);
      note(addedRows(event));
    },
    noticed(event) {
      if (event.kind !== "COMMAND_ANSWERED" || event.outcome !== "PAUSED") return;
      const order = asked.get(event.commandId);
      if (order === undefined) return;
      const { run, atMs } = order;
      const pause = pauses.get(run);
      if (pause?.isPaused || (pause?.untilMs ?? Number.NEGATIVE_INFINITY) >= atMs) return;
      throw new Violation(`the pause of the run ${run} was confirmed, and the run is not paused`);
    },
    looked(nowMs) {
      for (const id of ledger.open) {
        const row = ledger.get(id)?.row;
        if (row?.queue !== "PARKED" || isOver(row.state) || isPaused(row.job.jobId)) continue;
        const freeMs = pauses.get(row.job.jobId)?.untilMs ?? Number.NEGATIVE_INFINITY;
        const sinceMs = Math.max(freeMs, row.updatedAt - EPOCH_MS, quiet.butForBlocksSinceMs);
        if (nowMs - sinceMs > BOUND_MS)
          throw new Violation(`${id} is parked, and its run ${row.job.jobId} is not paused`);
      }
    },
  };
}
