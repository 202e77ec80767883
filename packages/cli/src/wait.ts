import process from "node:process";
import type { Client, Execution, ExecutionState, Workflow } from "@mainspring/sdk";
import { EXIT } from "./exit-codes.ts";

/** Makes the command end with 4 if something that it waited for did not succeed. */
export function exitBy(...states: readonly (ExecutionState | null)[]): void {
  if (states.some((state) => state !== "SUCCEEDED")) process.exitCode = EXIT.notSucceeded;
}

/** Waits until the execution is final; the command then ends with 4 if the execution did not succeed. */
export async function waitFor(client: Client, executionId: string): Promise<Execution> {
  const execution = await client.waitForExecution(executionId);
  exitBy(execution.state);
  return execution;
}

/** Waits until the run is final; the command then ends with 4 if the run did not succeed. */
export async function waitForWorkflow(client: Client, workflowId: string): Promise<Workflow> {
  const workflow = await client.workflows.waitFor(workflowId);
  exitBy(workflow.state);
  return workflow;
}
