import { isRun } from "../../../domain/execution.ts";
import type { EpochMs } from "../../../domain/ids.ts";
import { unstorableNode, unstorableWorkflow } from "../../../ports/storable.ts";
import {
  type AnyJob,
  hasGraph,
  type NewNode,
  type NewRecurringWorkflow,
  type NewWorkflow,
  type NodeBirth,
} from "../../../ports/store-runs.ts";
import { type Body, payloadName } from "../bodies.ts";
import { INSTANT_MAX, idBytes, NO_BYTES } from "../bytes.ts";
import { flowText, kindText } from "../kinds.ts";
import { uniqueField } from "../record.ts";
import { nameText } from "../recurring/job-changes.ts";
import { rowText } from "../recurring/job-rows.ts";
import { type LaterExecution, laterRecord } from "../recurring/later-record.ts";
import type { PackedJob } from "../submit.ts";
import { graphBodies } from "./graphs.ts";

/** Byte behind the ids of a workflow, behind whose arguments those of its roots come. */
const HAS_ROOTS = Buffer.from([1]);

/** Numbers of a flow and a kind. */
export interface Numbers {
  flow: number;
  kind: number;
}

/** Texts of the flow and kind of an execution. */
export function textsOfRow(row: NewNode["row"]): [flow: string, kind: string] {
  return [flowText(row), kindText(row.tenant, row)];
}

/** Bodies of the graphs of a job; none: the job is no workflow. */
export function graphsOf(job: AnyJob | NewRecurringWorkflow): Body[] {
  if (!hasGraph(job)) return [];
  const { jobId: id, nodes, graph, definitions, payloads, output, nested = [] } = job;
  return [{ id, nodes, graph, definitions, payloads, output }, ...nested].flatMap(graphBodies);
}

/** Ids of the sub-workflows of a job, as its row has them; undefined: the job is no workflow. */
export function nestedOf(job: AnyJob) {
  return hasGraph(job) ? (job.nested ?? []).map(({ id }) => id) : undefined;
}

/** Arguments of a workflow: those of other jobs, and then its roots. @param numbers those of the run, and of each root */
export function packWorkflow(job: NewWorkflow, [own, ...ofRoots]: readonly Numbers[]): PackedJob {
  const { jobId, executionId, tenant, shard, definition, payload, createdAt, roots } = job;
  const { uniqueKey, name } = definition;
  const record = runRecord(job, own as Numbers);
  const whole = { tenant, shard, version: 1, definition, createdAt, updatedAt: createdAt, deletedAt: null };
  const row = rowText({ ...whole, nested: nestedOf(job) }, payload?.length ?? null);
  const bodies = [...(payload === null ? [] : [{ name: payloadName(jobId, 1), bytes: payload }]), ...graphsOf(job)];
  const packed = roots.flatMap((root, i) => rootArguments(root, ofRoots[i] as Numbers));
  return {
    args: [
      ...[Buffer.concat([idBytes(executionId), idBytes(jobId), HAS_ROOTS]), record],
      uniqueKey === null ? NO_BYTES : uniqueField(tenant, uniqueKey),
      ...[row, tenant, namesOf(bodies), name === null ? NO_BYTES : nameText(tenant, name)],
      ...[`${roots.length}`, ...packed],
    ],
    bytes: record.length + row.length + packed.reduce((sum, arg) => sum + arg.length, 0),
    bodies,
    rows: 1 + roots.length,
  };
}

/** Distinct names of bodies, all of which have the same length. */
export function namesOf(bodies: readonly Body[]): Buffer {
  const names = bodies.map(({ name }) => name);
  return Buffer.concat(names.filter((name, i) => names[i - 1]?.equals(name) !== true));
}

/** A run as its record has it. */
type Run = Pick<
  NewWorkflow,
  "executionId" | "jobId" | "tenant" | "shard" | "queue" | "rank" | "laneHash" | "deadline"
> &
  Pick<NewWorkflow, "definition" | "payload" | "createdAt">;

/** Record of a run of a job. @param origin default: that of the first run */
export function runRecord(
  job: Run,
  numbers: Numbers,
  origin: Pick<LaterExecution, "trigger" | "retryOf" | "jobVersion"> = { trigger: "API", retryOf: null, jobVersion: 1 },
): Buffer {
  const { executionId, definition, payload, createdAt, deadline } = job;
  const { scheduledAt, policy, concurrencyKey, uniqueKey } = definition;
  return laterRecord({
    ...{ ...job, ...numbers, ...origin, id: executionId, updatedAt: createdAt, isRun: true },
    ...{ dueAt: deadline ?? scheduledAt, scheduledAt, policy, concurrencyKey, uniqueKey },
    payload: payload?.length ?? 0,
    ...(deadline !== null && { begun: { attempt: 0, startedAt: createdAt } }),
  });
}

/** Id and record of a first node. */
export function rootArguments(root: NewNode, numbers: Numbers): Buffer[] {
  return [idBytes(root.row.id), nodeRecord(root, numbers, root.createdAt)];
}

/** Record of the execution of a node. */
export function nodeRecord(node: NewNode & Partial<NodeBirth>, numbers: Numbers, updatedAt: EpochMs): Buffer {
  const { row, laneHash, createdAt, assigned } = node;
  const { jobId: run, node: number = 0, item = null } = row;
  return laterRecord({
    ...{ ...row, ...numbers, laneHash, createdAt, updatedAt, trigger: "NODE", uniqueKey: null, retryOf: null },
    ...{ payload: row.payloadBytes, isRun: isRun(row), ofNode: { run, node: number, item } },
    ...(assigned !== undefined && {
      ...{ queue: "HELD" as const, begun: { ...assigned, attempt: 1, startedAt: null } },
    }),
  });
}

/** @returns reason why the store cannot hold a workflow; null: it can */
export function unfitWorkflow(workflow: NewWorkflow): string | null {
  const { createdAt, definition, deadline, roots } = workflow;
  const instants = [createdAt, definition.scheduledAt, deadline ?? 0];
  return (
    unstorableWorkflow(workflow) ?? beyond(instants) ?? roots.map(unfitNode).find((found) => found !== null) ?? null
  );
}

/** @returns reason why the store cannot hold the execution of a node; null: it can */
export function unfitNode(node: NewNode & Partial<NodeBirth>): string | null {
  const { row, createdAt } = node;
  return unstorableNode(node) ?? beyond([createdAt, row.dueAt, row.scheduledAt, row.policy.startBefore ?? 0]);
}

function beyond(instants: readonly number[]): string | null {
  const found = instants.find((instant) => instant < 0 || instant > INSTANT_MAX);
  return found === undefined ? null : `${found} is no time from 0 to ${INSTANT_MAX} ms`;
}
