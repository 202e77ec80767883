import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type * as contract from "@mainspring/contract";
import { FINAL_STATES as FINAL, EVENT_KINDS as KINDS } from "@mainspring/contract/enums";
import * as limits from "@mainspring/contract/limits";
import type { Static, TSchema } from "typebox";
import { NODE_NAME_PATTERN } from "../handlers/branch.ts";
import { RESULT_MAX_BYTES } from "../handlers/outcome.ts";
import type * as sdk from "../index.ts";
import { STEP_MAX_BYTES, STEP_NAME_MAX_CHARS, STEPS_MAX, STEPS_MAX_BYTES } from "../steps/step-data.ts";
import { WAIT_MAX_MS, WAIT_SIGNALS_MAX, WORD_CHARS_MAX } from "../steps/wait-data.ts";
import { WAITS_MAX_BYTES } from "../steps/waits.ts";
import { FINAL_STATES } from "./api-types.ts";
import { EVENT_KINDS } from "./lifecycle-event-types.ts";

/**
 * The SDK declares its public types itself, so that editors show their docstrings and an installed SDK needs neither
 * the contract package nor TypeBox. The compiler proves here that these types equal the schemas of the API.
 */

/** The type with all its fields written out, and with times as they are in JSON. */
type Plain<T> = unknown extends T
  ? T
  : T extends Date
    ? never
    : T extends readonly (infer Item)[]
      ? Plain<Item>[]
      : T extends object
        ? { -readonly [K in keyof T]: Plain<T[K]> }
        : T;
type Same<A, B> = (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false;

/** Compiles only if both types have the same fields with the same types, and the same fields are optional. */
function same<A, B>(isSame: Same<A, B>): void {
  assert.equal(isSame, true);
}

/** Compiles only if the schema describes the type. */
function describes<S extends TSchema, T>(isSame: Same<Static<S>, T>): void {
  assert.equal(isSame, true);
}

/** Compiles only if every value of the first type is a value of the second type. */
function fits<A, B>(isOne: A extends B ? true : false): void {
  assert.equal(isOne, true);
}

type Contract = typeof contract;
type Submission = Static<Contract["JobSubmission"]>;
type RecurrenceField = keyof Contract["RecurrenceFields"];

describe("the types of the SDK", () => {
  it("are those of the API's answers about jobs", () => {
    describes<Contract["JobSummaryBody"], sdk.JobSummary>(true);
    describes<Contract["JobBody"], sdk.Job>(true);
    describes<Contract["ChangedBody"], sdk.ChangedJob>(true);
    describes<Contract["CatchUpBody"], sdk.CatchUp>(true);
    describes<Contract["PlanBody"], sdk.JobPlan>(true);
    describes<Contract["BackfillBody"], sdk.StartedBackfill>(true);
    describes<Contract["LedgerItemBody"], sdk.LedgerItem>(true);
    describes<Contract["FireBody"], sdk.PreviewedFire>(true);
    describes<Contract["OverdueBody"], { items: sdk.OverdueJob[] }>(true);
    describes<Contract["MissedBody"], sdk.MissedJobs>(true);
    // The server has two answers to a submit. The answer for a one-time job always has an execution id.
    fits<Static<Contract["SubmittedBody"]> & { executionId: string }, sdk.SubmittedJob>(true);
    fits<Static<Contract["DeduplicatedBody"]>, sdk.SubmittedJob>(true);
    fits<Static<Contract["SubmittedBody"]> & { nextFireAt: string }, sdk.SubmittedRecurringJob>(true);
    describes<Contract["RefusedJob"], sdk.BatchRefusal>(true);
  });

  it("are those of the API's answers about executions", () => {
    describes<Contract["ExecutionSummaryBody"], sdk.ExecutionSummary>(true);
    describes<Contract["ExecutionBody"], sdk.Execution>(true);
    describes<Contract["StepsBody"], sdk.ExecutionSteps>(true);
    describes<Contract["AttemptBody"], sdk.AttemptRecord>(true);
    describes<Contract["ErrorBody"], sdk.ExecutionError>(true);
    describes<Contract["DeadLetterBody"], sdk.DeadLetter>(true);
    describes<Contract["SettledBody"], { items: sdk.SettledDeadLetter[] }>(true);
    describes<Contract["DeadLetterRunBody"], sdk.DeadLetterRun>(true);
    describes<Contract["ExecutionRunBody"], sdk.ExecutionRun>(true);
    describes<Contract["ExecutionCountBody"], sdk.ExecutionCount>(true);
    describes<Contract["CloudEventBody"], Omit<sdk.LifecycleEvent, "position">>(true);
  });

  it("are those of the API's requests and answers about workflows", () => {
    type Workflow = Static<Contract["WorkflowSubmission"]>;
    // The API checks the nodes of sub-workflows one by one.
    type Level<W extends { nodes: readonly object[] }> = Omit<W, "nodes" | RecurrenceField> & {
      nodes: Omit<W["nodes"][number], "workflow">[];
    };
    same<Level<Workflow>, Level<sdk.WorkflowRequest>>(true);
    type Sub<W extends { nodes: readonly unknown[] }> = Omit<W, "nodes">;
    same<Sub<Static<Contract["SubWorkflowSubmission"]>>, Sub<sdk.SubWorkflowRequest>>(true);
    same<Pick<Workflow, RecurrenceField>, Pick<sdk.Recurrence, RecurrenceField>>(true);
    fits<Plain<sdk.RecurringWorkflowRequest>, Workflow>(true);
    describes<Contract["WorkflowPlanned"], sdk.PlannedWorkflow>(true);
    describes<Contract["WorkflowAccepted"], sdk.SubmittedWorkflow>(true);
    describes<Contract["RetriedWorkflow"], sdk.RetriedWorkflow>(true);
    describes<Contract["WorkflowDeduplicated"], sdk.DeduplicatedWorkflow>(true);
    describes<Contract["WorkflowSummary"], sdk.WorkflowSummary>(true);
    describes<Contract["Workflow"], sdk.Workflow>(true);
    describes<Contract["WorkflowNode"], sdk.WorkflowNode>(true);
    describes<Contract["WorkflowItem"], sdk.WorkflowItem>(true);
    describes<Contract["WorkflowGraphBody"], sdk.WorkflowGraph>(true);
    type Reasons = "reasons" | "compensation";
    same<Omit<Static<Contract["NodeExplanation"]>, Reasons>, Omit<sdk.NodeExplanation, Reasons>>(true);
  });

  it("are those of the API's answers about servers and workers", () => {
    describes<Contract["PoolBody"], sdk.Pool>(true);
    // A server of an earlier release omits `unconfirmedBy`.
    describes<Contract["ChangedPoolBody"], sdk.ChangedPool & Required<Pick<sdk.ChangedPool, "unconfirmedBy">>>(true);
    describes<Contract["HandlerBody"], sdk.Handler>(true);
    describes<Contract["RequestSummaryBody"], sdk.JobRequestSummary>(true);
    describes<Contract["RequestBody"], sdk.JobRequestState>(true);
    describes<Contract["WebhookBody"], sdk.WebhookInfo>(true);
    describes<Contract["CreatedWebhookBody"], sdk.CreatedWebhook>(true);
    describes<Contract["RotatedSecretBody"], sdk.RotatedSecret>(true);
    describes<Contract["DeliveryBody"], sdk.WebhookDelivery>(true);
    describes<Contract["WorkerBody"], sdk.WorkerInfo>(true);
    describes<Contract["WorkerDetailBody"], sdk.WorkerDetail>(true);
    describes<Contract["StatsBody"], sdk.Stats>(true);
    describes<Contract["ClusterBody"], sdk.ClusterStatus>(true);
    describes<Contract["SeriesBody"], sdk.FigureSeries>(true);
    describes<Contract["TimeZonesBody"], sdk.TimeZoneData>(true);
    describes<Contract["ProblemBody"], sdk.Problem>(true);
  });

  it("name every reason why an execution waits", () => {
    describes<Contract["AttemptLogsBody"], sdk.AttemptLogs>(true);
    type Explained = Static<Contract["ExplanationBody"]>;
    same<Omit<Explained, "reasons">, Omit<sdk.Explanation, "reasons">>(true);
    same<Explained["reasons"][number]["reason"], sdk.WaitReason["reason"]>(true);
  });

  it("are those of the API's requests", () => {
    same<Omit<Submission, RecurrenceField | "type">, sdk.JobRequest>(true);
    same<Pick<Submission, RecurrenceField>, Pick<sdk.Recurrence, RecurrenceField>>(true);
    fits<Plain<sdk.RecurringJobRequest>, Submission>(true);
    describes<Contract["SchedulePreview"], sdk.SchedulePreviewRequest>(true);
    describes<Contract["BackfillRequest"], sdk.BackfillRequest>(true);
    describes<Contract["PoolSettings"], sdk.PoolSettings>(true);
    fits<Plain<sdk.WebhookRequest>, Static<Contract["WebhookSubmission"]>>(true);
    fits<{ deliveryIds: string[] } | { since: string }, Static<Contract["WebhookReplay"]>>(true);
    describes<Contract["LetterFilter"], sdk.DeadLetterFilter>(true);
  });
});

describe("the values of the SDK", () => {
  it("agree with the contract of the API", () => {
    assert.deepEqual(FINAL_STATES, FINAL);
    assert.deepEqual(EVENT_KINDS, KINDS);
    const own = {
      RESULT_MAX_BYTES,
      STEP_MAX_BYTES,
      STEP_NAME_MAX_CHARS,
      STEPS_MAX,
      STEPS_MAX_BYTES,
      NODE_NAME_PATTERN,
    };
    const waits = { WAIT_MAX_MS, WAIT_SIGNALS_MAX, WAITS_MAX_BYTES, WORD_CHARS_MAX };
    assert.deepEqual({ ...limits, ...own, ...waits }, { ...limits });
  });
});
