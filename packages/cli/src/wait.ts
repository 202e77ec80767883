import process from "node:process";
import type { Client, Execution, Workflow } from "@mainspring/sdk";
import { EXIT } from "./exit-codes.ts";

/** Waits until the execution is final; the command then ends with 4 if the execution did not succeed. */
export async function waitFor(client: Client, executionId: string): Promise<Execution> {
  const execution = await client.waitForExecution(executionId);
  if (execution.state !== "SUCCEEDED") process.exitCode = EXIT.notSucceeded;
  return execution;
}

/** Waits until the run is final; the command then ends with 4 if the run did not succeed. */
export async function waitForWorkflow(client: Client, workflowId: string): Promise<Workflow> {
  const workflow = await client.workflows.waitFor(workflowId);
  if (workflow.state !== "SUCCEEDED") process.exitCode = EXIT.notSucceeded;
  return workflow;
}
