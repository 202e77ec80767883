import { type ExecutionError, type FinalState, isNode } from "../../domain/execution.ts";
import { invariant } from "../../domain/invariant.ts";
import type { RunOutcome } from "../../ports/store-runs.ts";
import { tellEnded } from "../events.ts";
import type { Input } from "../inputs.ts";
import { commandDone } from "../jobs/answers.ts";
import { tellEnd } from "../rows.ts";
import type { Step } from "../state.ts";
import { beginCompensation, compensatedEnd } from "./compensate.ts";
import { freeKey } from "./held-keys.ts";
import type { Run } from "./runs.ts";

interface End {
  state: FinalState;
  reason: string | null;
  error: ExecutionError | null;
  result?: Uint8Array;
}

type Output = Extract<Input, { kind: "OUTPUT" }>["output"];

/**
 * Writes the final rows of runs whose nodes' ends are durable. A run waits for that, because the store may refuse a
 * result, and its node is then DEAD.
 * @param committed number of the batch that the store has applied
 */
export function endRuns(step: Step, committed: number): void {
  for (const run of step.state.runs.over) if ((run.overIn ?? 0) <= committed) endRun(step, run);
}

/** Ends a run whose result was filled in. The run may have been dropped since, and then asks again when it is read. */
export function applyOutput(step: Step, { run: id, output }: Extract<Input, { kind: "OUTPUT" }>): void {
  const run = step.state.runs.byId.get(id);
  if (run?.output === "ASKED") endRun(step, run, output);
}

/**
 * Ends a run whose nodes have ended, once its result is filled in, or its nodes are compensated.
 * @param output result of the run; left out: nobody has filled it in
 */
export function endRun(step: Step, run: Run, output?: Output): void {
  const { runs, recentWrites, openCommands } = step.state;
  const { row } = run.read;
  const outcome = endOf(run, cancelReason(step, run));
  if (outcome.state === "SUCCEEDED" && run.read.output !== null && output === undefined) return askForOutput(step, run);
  runs.superseded.delete(run.id);
  runs.stopped.delete(run.id);
  const end = outcome.state === "SUCCEEDED" && output !== undefined ? endWith(output) : outcome;
  if (isUndone(end) && beginCompensation(step, run, end)) return;
  step.batch.write(run.shard, {
    id: run.id,
    wasState: "RUNNING",
    wasAttempt: row.attempt,
    state: end.state,
    attempt: row.attempt,
    failures: 0,
    lost: 0,
    queue: "NONE",
    rank: row.rank,
    dueAt: row.dueAt,
    reason: end.reason,
    workerId: null,
    gateway: null,
    attemptStartedAt: null,
    startedAt: row.startedAt,
    finishedAt: step.now,
    result: end.result ?? null,
    error: end.error,
    ended: [],
    releaseUniqueKey: row.hasUniqueKey,
  });
  // The dead letter of a sub-workflow is the outermost run.
  if (end.state === "DEAD" && !isNode(row)) step.batch.deadLetters.push(row.pool);
  const commands = runs.cancels.get(run.id) ?? [];
  runs.cancels.delete(run.id);
  for (const command of runs.orders.get(run.id) ?? []) commandDone(step, command, "FINAL");
  runs.orders.delete(run.id);
  step.batch.shard(run.shard).commandsDone.push(...commands.map(({ id }) => id));
  for (const { id } of commands) openCommands.delete(id);
  recentWrites.add(run.id, step.batch.number);
  tellEnded(step, row, end.state, end);
  tellEnd(step, row, end.state, {});
  freeKey(step.state, run.id);
  runs.drop(run);
}

/** Whether a run with this end is compensated, if its nodes declare that. */
function isUndone(end: End): end is End & { state: RunOutcome["state"] } {
  return end.state === "DEAD" || end.state === "CANCELLED";
}

function askForOutput({ wants }: Step, run: Run): void {
  const { output: stored } = run.read;
  if (run.output === "ASKED" || stored === null) return;
  run.output = "ASKED";
  wants.push({ kind: "OUTPUT", run: run.id, stored });
}

function endWith(output: Output): End {
  if (output instanceof Uint8Array) return { state: "SUCCEEDED", reason: null, error: null, result: output };
  const { reason, error } = output;
  return { state: "DEAD", reason, error: { ...error, message: `the output of the workflow: ${error.message}` } };
}

/** Reason of a run that is cancelled; null: the cancellation says it all. */
function cancelReason({ state: { runs } }: Step, { id }: Run): string | null {
  if (runs.superseded.has(id)) return "SUPERSEDED";
  const commands = runs.cancels.get(id) ?? [];
  return runs.stopped.get(id)?.reason ?? commands.find(({ reason }) => reason !== undefined)?.reason ?? null;
}

/** @param cancelled reason of a run that is cancelled */
function endOf(run: Run, cancelled: string | null): End {
  if (run.undo !== null) return compensatedEnd(run, run.undo);
  const { mode, progress, read } = run;
  if (mode === "EXPIRING") {
    const message = `it was not final at its deadline, ${new Date(read.row.dueAt).toISOString()}`;
    return { state: "DEAD", reason: "WORKFLOW_TIMED_OUT", error: { name: "WorkflowTimedOut", message } };
  }
  const end = progress.end();
  invariant(end !== null, "a run ends when no node is live or ready");
  if (end.state !== "DEAD") {
    return { state: end.state, reason: end.state === "CANCELLED" ? cancelled : null, error: null };
  }
  const name = read.definitions[end.node]?.name ?? String(end.node);
  const isDead = end.reason === "NODE_DEAD";
  const message = `its node ${name} ${isDead ? "is DEAD" : "was cancelled"}`;
  return { state: "DEAD", reason: end.reason, error: { name: isDead ? "NodeDead" : "NodeCancelled", message } };
}
