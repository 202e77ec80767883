import { createHash } from "node:crypto";
import type { JobState } from "../client/api-types.ts";
import type { Client } from "../client/client.ts";
import type { ReadOptions } from "../client/requests.ts";
import { MainspringError } from "../errors.ts";
import type { RecurringWorkflowRequest } from "./workflow-requests.ts";

/** A workflow that recurs. */
export interface ScheduledWorkflow {
  /** Id of the recurring job, which starts a run at each planned instant. */
  jobId: string;
  state: JobState;
  /** Next planned instant; null: none. */
  nextFireAt: string | null;
  /** Whether this call created the job; false: it was there, with the same definition. */
  created: boolean;
  /** Possible mistakes, as a handler that no worker offers now; absent: none. */
  warnings?: string[];
}

/** Label of recurring workflows, with a hash of their definition. */
const DEFINITION_LABEL = "mainspring/definition";
const NAME_IN_USE = "/problems/name-in-use";

/** @throws {MainspringError} CONFLICT: there is a recurring job of the name with another definition */
export async function scheduleWorkflow(
  client: Client,
  workflow: RecurringWorkflowRequest,
  options: ReadOptions = {},
): Promise<ScheduledWorkflow> {
  const hash = createHash("sha256").update(JSON.stringify(workflow)).digest("hex").slice(0, 32);
  const labels = { ...workflow.labels, [DEFINITION_LABEL]: hash };
  try {
    const { nodes: _, ...planned } = await client.workflows.schedule({ ...workflow, labels }, options);
    return { ...planned, created: true };
  } catch (error) {
    if (!(error instanceof MainspringError) || error.problem?.type !== NAME_IN_USE) throw error;
    const job = await client.jobs.find(workflow.name as string);
    if (job?.labels[DEFINITION_LABEL] !== hash) throw otherDefinition(workflow, error);
    return { jobId: job.jobId, state: job.state, nextFireAt: job.nextFireAt ?? null, created: false };
  }
}

function otherDefinition({ name }: RecurringWorkflowRequest, error: MainspringError): MainspringError {
  const right = "Delete that job with client.deleteJob, and schedule the workflow again";
  const message = `a recurring job named ${JSON.stringify(name)} exists, with another definition. ${right}`;
  return new MainspringError("CONFLICT", message, { ...(error.problem && { problem: error.problem }), cause: error });
}
