import type {
  JobSubmission,
  WorkflowAccepted,
  WorkflowDeduplicated,
  WorkflowEnvelope,
  WorkflowPlanned,
} from "@mainspring/contract";
import { DEFAULT_RUN_TIMEOUT_MS, WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import type { EpochMs } from "../../domain/ids.ts";
import type { WorkflowNode } from "../../domain/workflow/definition.ts";
import type { AcceptedJob } from "../../ports/store.ts";
import { ProblemError } from "../http/errors.ts";
import { formatInstant } from "../http/instants.ts";
import { jobDefinition } from "../submit/job-definition.ts";
import { firstFireOf, nameInUse } from "../submit/job-intake.ts";
import { hasRootMap, startsAtOnce } from "./new-workflow.ts";
import { startedBody } from "./started-run.ts";

export type WorkflowAnswer = WorkflowAccepted | WorkflowPlanned | WorkflowDeduplicated;

/** Names of roots in an answer. */
const ROOTS_MAX = 1_000;

/** The job of a workflow, in the form of a request for a job. Its `timeoutSec` bounds a whole run. */
export function jobOfWorkflow(head: Omit<WorkflowEnvelope, "nodes">): JobSubmission {
  const { defaults, onFailure: _, compensate: _compensate, timeoutSec = DEFAULT_RUN_TIMEOUT_MS / 1_000, ...job } = head;
  const pool = defaults?.pool === undefined ? {} : { pool: defaults.pool };
  return { ...job, timeoutSec, target: { handler: WORKFLOW_HANDLER, ...pool } };
}

/**
 * Answer to the submit of a workflow that was accepted.
 * @param takenAt time at which the server took it; a repeat has that of the first request
 * @throws {ProblemError} 409: another recurring job has the name
 */
export function answerOf(
  { jobId, executionId, deduplicated, nameHeldBy }: AcceptedJob,
  job: JobSubmission,
  takenAt: EpochMs,
  nodes: readonly WorkflowNode[],
): WorkflowAnswer {
  if (nameHeldBy !== undefined) throw new ProblemError(nameInUse(nameHeldBy));
  const definition = jobDefinition(job, takenAt);
  if (executionId === null) {
    return { jobId, state: "ACTIVE", nodes: nodes.length, nextFireAt: firstFireOf(definition, jobId, takenAt) };
  }
  const workflowId = executionId;
  if (deduplicated) return { workflowId, jobId, deduplicated };
  const { scheduledAt } = definition;
  const startsAt = scheduledAt > takenAt ? formatInstant(scheduledAt) : null;
  const roots = nodes.flatMap(({ dependsOn }, node) => (dependsOn.length === 0 ? [node] : [])).slice(0, ROOTS_MAX);
  const starts = startsAtOnce(
    definition,
    roots.map((node) => nodes[node]),
  );
  const first = startsAt === null && starts && !hasRootMap(nodes) ? roots : null;
  return { workflowId, jobId, ...startedBody(workflowId, nodes, first), startsAt };
}
