import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { RUN_NODE } from "../../../domain/execution.ts";

/** SQL conditions for rows of executions. */

/** The execution of a node that runs a sub-workflow, and so a run itself. @param e alias of the executions */
export function isChildRun(e: string): string {
  return `(${e}.node >= 0 AND ${e}.handler = '${SUB_WORKFLOW_HANDLER}')`;
}

/** A run of a workflow or of a sub-workflow. */
export function isRun(e: string): string {
  return `(${e}.node = ${RUN_NODE} OR ${isChildRun(e)})`;
}
