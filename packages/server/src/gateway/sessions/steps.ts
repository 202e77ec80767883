import { fromBinary } from "@bufbuild/protobuf";
import { STEP_MAX_BYTES, STEP_NAME_MAX_CHARS } from "@mainspring/contract/limits";
import { type RecordedStep, RecordedStepsSchema, type Step, StepKind } from "@mainspring/proto";
import type { ExecutionError } from "../../domain/execution.ts";
import type { Assignment, Token } from "../../ports/messages.ts";
import type { DurableStep, ReportedStep } from "../../ports/step-messages.ts";
import { resultFault } from "../connections/result-check.ts";
import { MESSAGE_MAX_PAYLOAD_BYTES } from "../limits.ts";
import { failedOf, wireTokenOf } from "../translate.ts";
import type { GatewayContext, Session } from "./session.ts";

const KINDS: Partial<Record<StepKind, ReportedStep["step"]>> = {
  [StepKind.RESULT]: "RESULT",
  [StepKind.CHECKPOINT]: "CHECKPOINT",
};

/**
 * Passes the record of a handler to the owner of its shard. A record that no SDK would make ends the attempt, because its
 * handler would wait for the acknowledgement for ever.
 */
export function passStep(session: Session, token: Token, step: Step, context: GatewayContext): void {
  const fault = faultOf(step, context);
  if (fault !== null) return fail(session, token, fault, context);
  const { workerId } = session.profile;
  const { shard, executionId, attempt } = token;
  const { number, name } = step;
  const data = step.data.length === 0 ? null : step.data;
  const kind = KINDS[step.kind] ?? "RESULT";
  const report = { shard, executionId, attempt, workerId, number, name, step: kind, data };
  context.reports.stepped(context.owners.of(shard), report);
}

/** Adds the records of an assignment to the messages for the worker, in parts that each fit into a message. */
export function sendRecorded(session: Session, assignment: Assignment, steps: Uint8Array): void {
  const recorded = fromBinary(RecordedStepsSchema, steps);
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

export function acknowledgeStep(session: Session, { number, ...token }: DurableStep): void {
  const ack = { $typeName: "mainspring.worker.v1.StepAck", token: wireTokenOf(token), number } as const;
  session.outgoing.stepAcks.push(ack);
}

function fail(session: Session, token: Token, error: ExecutionError, { runtime }: GatewayContext): void {
  const held = session.held.get(token.executionId, token.attempt);
  if (held === null || held.state === "FINISHED" || held.state === "OVER") return;
  session.finish(held, true);
  session.outgoing.refused.push(wireTokenOf(token));
  const advice = error.name === "StepsNotSupported" ? null : ({ kind: "NEVER" } as const);
  const times = { startedAt: held.startedAt, finishedAt: runtime.now() };
  session.reportEnd(failedOf(token, session.profile.workerId, times, error, advice));
}

function faultOf(step: Step, { takesSteps }: GatewayContext): ExecutionError | null {
  if (!takesSteps()) {
    return {
      name: "StepsNotSupported",
      message: "a server of the cluster does not know steps: update every server first",
    };
  }
  const { name, kind, data } = step;
  const isNamed = kind === StepKind.CHECKPOINT ? name === "" : name !== "" && name.length <= STEP_NAME_MAX_CHARS;
  if (KINDS[kind] === undefined || !isNamed || name.includes("\u0000") || !name.isWellFormed()) {
    return {
      name: "InvalidStep",
      message: `a step needs a name of 1 to ${STEP_NAME_MAX_CHARS} characters, without NUL and half surrogate pairs`,
    };
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
