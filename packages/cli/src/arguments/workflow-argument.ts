import { WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import type { Client, WorkflowRequest } from "@mainspring/sdk";
import { EXIT } from "../exit-codes.ts";
import { Failure, isNotFound } from "../failure.ts";
import { sentence } from "../text/output.ts";
import { onlyOne } from "./id-argument.ts";
import { fileName, readDataFile } from "./json-argument.ts";
import { isId } from "./option-values.ts";

/** Largest number of names that the error about an unknown node has. */
const NAMES_MAX = 10;

/**
 * Id of the workflow that an argument denotes: the whole id, or an unambiguous prefix.
 * @throws {Failure} no workflow, or several, have the prefix
 */
async function workflowIdOf(client: Client, idOrPrefix: string): Promise<string> {
  if (isId(idOrPrefix)) return idOrPrefix;
  const found = client.listExecutions({ idPrefix: idOrPrefix, handler: WORKFLOW_HANDLER, limit: 10 });
  return onlyOne("workflow", idOrPrefix, found, ({ executionId }) => executionId);
}

/**
 * Reads a definition of a workflow.
 * @param path path of a file; `-`: standard input
 * @throws {Failure} the file cannot be read, or holds no object with nodes
 */
export async function readWorkflow(path: string): Promise<WorkflowRequest> {
  const value = await readDataFile(path, "a workflow");
  if (isWorkflow(value)) return value;
  const right = `{"nodes": [{"name": "a", "target": {"handler": "echo"}}]}`;
  throw new Failure(
    `${fileName(path)} holds no object with a list of \`nodes\`: give a workflow such as ${right}`,
    EXIT.usage,
  );
}

function isWorkflow(value: unknown): value is WorkflowRequest {
  return typeof value === "object" && value !== null && "nodes" in value && Array.isArray(value.nodes);
}

/**
 * Runs an action on a workflow.
 * @throws {Failure} the server knows no such workflow; the message says what the id denotes
 */
export async function onWorkflow<T>(
  client: Client,
  prefix: string,
  act: (workflowId: string) => Promise<T>,
): Promise<T> {
  const workflowId = await workflowIdOf(client, prefix);
  try {
    return await act(workflowId);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new Failure(await denoted(client, workflowId), EXIT.failed);
  }
}

/**
 * Runs an action on a node of a workflow.
 * @throws {Failure} the workflow has no such node; the message names its nodes
 */
export async function onNode<T>(client: Client, workflowId: string, node: string, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!isNotFound(error)) throw error;
    const { nodes } = await client.workflows.graph(workflowId);
    const names = nodes.map(({ name }) => name);
    throw new Failure(unknownNode(node, names, workflowId), EXIT.failed);
  }
}

function unknownNode(node: string, names: readonly string[], workflowId: string): string {
  const more = names.length - NAMES_MAX;
  const shown = names.slice(0, NAMES_MAX).join(", ");
  const rest = more > 0 ? `, and ${more} more: see \`workflow nodes ${workflowId}\`` : "";
  return sentence`the workflow has no node ${JSON.stringify(node)}. Its nodes are ${shown}${rest}`;
}

/** Message for an id that is not the id of a workflow. */
async function denoted(client: Client, id: string): Promise<string> {
  const execution = await client.getExecution(id).catch(() => null);
  if (execution === null)
    return `no workflow has the id ${id}, or it was dropped because of its age: see \`workflow list\``;
  const { workflowId, node } = execution;
  if (workflowId === undefined) return `${id} is an execution of a job, and no workflow: see \`executions get ${id}\``;
  return sentence`${id} is the execution of a node: give the id of its workflow, ${workflowId}, whose node is ${node}`;
}
