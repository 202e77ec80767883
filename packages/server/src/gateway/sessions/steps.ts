import { fromBinary } from "@bufbuild/protobuf";
import { STEP_MAX_BYTES, STEP_NAME_MAX_CHARS, WORD_CHARS_MAX } from "@mainspring/contract/limits";
import { type RecordedStep, type RecordedSteps, RecordedStepsSchema, type Step, StepKind } from "@mainspring/proto";
import type { ExecutionError } from "../../domain/execution.ts";
import type { RetryAdvice } from "../../domain/retry.ts";
import type { Assignment, FinishedAttempt, Token } from "../../ports/messages.ts";
import type { ReportedStep, ReportedWait } from "../../ports/step-messages.ts";
import { resultFault } from "../connections/result-check.ts";
import { isWord } from "../connections/waits-check.ts";
import { MESSAGE_MAX_PAYLOAD_BYTES } from "../limits.ts";
import { failedOf, wireTokenOf } from "../translate.ts";
import type { GatewayContext, Session } from "./session.ts";
import { StepBudget } from "./step-budget.ts";

const NOT_SUPPORTED: ExecutionError = {
  name: "StepsNotSupported",
  message: "a server of the cluster does not know steps: update every server first",
};

const KINDS: Partial<Record<StepKind, ReportedStep["step"]>> = {
  [StepKind.RESULT]: "RESULT",
  [StepKind.CHECKPOINT]: "CHECKPOINT",
};

/**
 * Passes the record of a handler to the owner of its shard. A record that no SDK would make ends the attempt, because its
 * handler would wait for the acknowledgement for ever.
 */
export function passStep(session: Session, token: Token, step: Step, context: GatewayContext): void {
  const fault = faultOf(step, context) ?? budgetFault(session, token, step);
  if (fault !== null) return fail(session, token, fault, context);
  const { workerId } = session.profile;
  const { shard, executionId, attempt } = token;
  const { number, name, signalId } = step;
  const held = session.held.get(executionId, attempt);
  if (held !== null) session.held.record(held, number, context.runtime.monotonicMs());
  const data = step.data.length === 0 ? null : step.data;
  const kind = KINDS[step.kind] ?? "RESULT";
  const report = { shard, executionId, attempt, workerId, number, name, step: kind, data };
  context.reports.stepped(context.owners.of(shard), signalId === "" ? report : { ...report, signalId });
}

/** Records and signals that come with an assignment; null: the execution has never had any. */
export function recordedOf({ steps }: Assignment): RecordedSteps | null {
  return steps ? fromBinary(RecordedStepsSchema, steps) : null;
}

/** Whether an attempt that does not know records would repeat something. Signals are of no use to it, and do no harm. */
export function hasRecords(recorded: RecordedSteps | null): boolean {
  return recorded?.steps.some(({ kind }) => kind !== StepKind.SIGNAL) ?? false;
}

/** Adds the records of an assignment to the messages for the worker, in parts that each fit into a message. */
export function sendRecorded(session: Session, assignment: Assignment, recorded: RecordedSteps): void {
  const token = wireTokenOf(assignment);
  for (const part of partsOf(recorded.steps)) session.outgoing.recorded.push({ ...recorded, token, steps: part });
}

/** Fails an attempt of which earlier attempts made records, because its worker would repeat their steps. */
export function failUnsupported(session: Session, token: Token, { runtime }: GatewayContext): void {
  const error = {
    name: "StepsNotSupported",
    message: `the SDK of worker ${session.profile.name} does not know steps: update every worker of pool ${session.profile.pool}`,
  };
  const times = { startedAt: null, finishedAt: runtime.now() };
  session.reportEnd(failedOf(token, session.profile.workerId, times, error, null));
}

function fail(session: Session, token: Token, error: ExecutionError, { runtime }: GatewayContext): void {
  const held = session.held.get(token.executionId, token.attempt);
  if (held === null || held.state === "FINISHED" || held.state === "OVER") return;
  session.finish(held, true);
  session.outgoing.refused.push(wireTokenOf(token));
  const times = { startedAt: held.startedAt, finishedAt: runtime.now() };
  session.reportEnd(failedOf(token, session.profile.workerId, times, error, adviceOf(error)));
}

/** Another attempt may find other servers, but not other waits and records. */
function adviceOf(error: ExecutionError): RetryAdvice {
  return error === NOT_SUPPORTED ? null : { kind: "NEVER" };
}

/**
 * The end of an attempt that reports a suspension, as its owner gets it: the gateway fails an attempt whose waits the
 * cluster cannot keep.
 */
export function judgedSuspension(
  session: Session,
  finished: FinishedAttempt,
  { takesSteps }: GatewayContext,
): FinishedAttempt {
  const { waits, workerId, startedAt, finishedAt } = finished;
  if (waits === undefined) return finished;
  const fault = takesSteps() ? waitsFault(waits, budgetOf(session, finished)) : NOT_SUPPORTED;
  return fault === null ? finished : failedOf(finished, workerId, { startedAt, finishedAt }, fault, adviceOf(fault));
}

function waitsFault(waits: readonly ReportedWait[], budget: StepBudget): ExecutionError | null {
  for (const { name } of waits) {
    const fault = budget.add(StepKind.WAIT, name, 0);
    if (fault !== null) return fault;
  }
  return null;
}

function budgetFault(session: Session, token: Token, { kind, name, data }: Step): ExecutionError | null {
  return budgetOf(session, token).add(kind, name, data.length);
}

/** Sizes of the execution's records; of an attempt that this gateway does not have, none are known. */
function budgetOf(session: Session, { executionId, attempt }: Token): StepBudget {
  const held = session.held.get(executionId, attempt);
  return held === null ? new StepBudget() : (held.budget ??= new StepBudget());
}

function faultOf(step: Step, { takesSteps }: GatewayContext): ExecutionError | null {
  if (!takesSteps()) return NOT_SUPPORTED;
  const { name, kind, data, signalId } = step;
  const isNamed = kind === StepKind.CHECKPOINT ? name === "" : isWord(name, STEP_NAME_MAX_CHARS);
  if (KINDS[kind] === undefined || !isNamed) {
    return {
      name: "InvalidStep",
      message: `a step needs a name of 1 to ${STEP_NAME_MAX_CHARS} characters, without NUL and half surrogate pairs`,
    };
  }
  if (signalId !== "" && (kind !== StepKind.RESULT || !isWord(signalId, WORD_CHARS_MAX))) {
    const message = `only a result names a signal, by an id of 1 to ${WORD_CHARS_MAX} characters`;
    return { name: "InvalidStep", message };
  }
  if (data.length > STEP_MAX_BYTES) {
    return { name: "StepTooLarge", message: `a record has ${data.length} bytes; at most ${STEP_MAX_BYTES} are stored` };
  }
  return data.length === 0 ? null : resultFault(data);
}

function partsOf(steps: readonly RecordedStep[]): RecordedStep[][] {
  const parts: RecordedStep[][] = [];
  let bytes = Number.POSITIVE_INFINITY;
  for (const step of steps) {
    bytes += step.data.length + step.name.length;
    if (bytes > MESSAGE_MAX_PAYLOAD_BYTES) {
      parts.push([]);
      bytes = step.data.length + step.name.length;
    }
    parts.at(-1)?.push(step);
  }
  return parts;
}
