import process from "node:process";
import type { Client, Execution } from "@mainspring/sdk";
import { EXIT } from "./exit-codes.ts";

/** Waits until the execution is final; the command then ends with 4 if the execution did not succeed. */
export async function waitFor(client: Client, executionId: string): Promise<Execution> {
  const execution = await client.waitForExecution(executionId);
  if (execution.state !== "SUCCEEDED") process.exitCode = EXIT.notSucceeded;
  return execution;
}
