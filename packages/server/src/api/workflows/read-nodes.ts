import { type SubWorkflowSubmission, WorkflowNodeSubmission } from "@mainspring/contract";
import {
  NODE_PARSED_BYTES_MAX,
  PAYLOAD_BYTES_MAX,
  SUB_WORKFLOW_LEVELS_MAX,
  WORKFLOW_NODES_MAX,
} from "@mainspring/contract/limits";
import { compensationOf } from "../../domain/workflow/compensation-number.ts";
import { JsonValue } from "../../ports/references/json-value.ts";
import type { Turns } from "../../ports/turns.ts";
import { OversizeJson } from "../http/body/json-body.ts";
import { groupsOf, type JobSlice, parseJobs } from "../http/body/json-parts.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import { compileCheck } from "../http/validation.ts";
import { bytesOf } from "../submit/submit-route.ts";
import { refuseLarge } from "./compile-templates.ts";
import { Faults, nameOf, nodeFault, withinNode } from "./node-faults.ts";

const nodeCheck = compileCheck(WorkflowNodeSubmission);

/** Nodes of a request that meet their schema, with their payloads. */
export interface ReceivedNodes {
  nodes: WorkflowNodeSubmission[];
  /** Payloads as JSON texts, by number of the node or of its compensation; those without one are left out. */
  payloads: Map<number, Uint8Array>;
  /** Sub-workflows by number of the node. */
  nested: Map<number, ReceivedNested>;
}

/** Sub-workflow of a request. */
export interface ReceivedNested {
  head: Omit<SubWorkflowSubmission, "nodes">;
  nodes: ReceivedNodes;
  /** JSON text; null: none. */
  output: Uint8Array | null;
}

/** Place of a workflow in a request. */
interface Level {
  /** Workflows around it. */
  depth: number;
  /** Nodes that the request may have beside those that were read. */
  left: { nodes: number };
}

/**
 * Parses the nodes of a request and checks each of them, in turns of the event loop.
 * @throws {ProblemError} 400 with the first faults, each with the name of its node; 413 for a payload that is too large
 */
export async function readNodes(
  bytes: Buffer,
  slices: readonly JobSlice[],
  turns: Turns,
  level: Level = { depth: 0, left: { nodes: WORKFLOW_NODES_MAX } },
): Promise<ReceivedNodes> {
  const received: ReceivedNodes = { nodes: [], payloads: new Map(), nested: new Map() };
  const faults = new Faults();
  level.left.nodes -= slices.length;
  for (const group of groupsOf(slices)) {
    if (turns.isOver) await turns.next();
    for (const [place, given] of parseJobs(bytes, group, NODE_PARSED_BYTES_MAX).entries()) {
      if (turns.isOver) await turns.next();
      const slice = group[place] as JobSlice;
      takeNode(received, given, bytesOf(bytes, slice.payload), faults);
      await takeCompensation(received, bytes.subarray(slice.start, slice.end), turns);
      if (faults.isFull) throw new ProblemError(invalid(faults.list));
    }
  }
  if (faults.list.length > 0) throw new ProblemError(invalid(faults.list));
  for (const [index, { name, workflow }] of received.nodes.entries()) {
    if (workflow === undefined) continue;
    const slice = slices[index] as JobSlice;
    const text = bytes.subarray(slice.start, slice.end);
    received.nested.set(index, await withinNode(index, name, () => readNested(workflow, text, turns, level)));
  }
  return received;
}

/** @param text JSON text of the node */
async function readNested(
  { nodes, ...head }: SubWorkflowSubmission,
  text: Buffer,
  turns: Turns,
  { depth, left }: Level,
): Promise<ReceivedNested> {
  const refuse = (message: string) => new ProblemError(invalid([{ field: "", message }]));
  if (depth >= SUB_WORKFLOW_LEVELS_MAX)
    throw refuse(`is more than ${SUB_WORKFLOW_LEVELS_MAX} levels below the outermost workflow`);
  if (nodes.length > left.nodes)
    throw refuse(`goes beyond the limit of ${WORKFLOW_NODES_MAX} nodes of a workflow with its sub-workflows`);
  const value = new JsonValue(text);
  const find = (...path: (string | number)[]) => turns.steps(value.finding(["workflow", ...path]));
  const slices: JobSlice[] = [];
  for (const index of nodes.keys()) {
    const slice = await find("nodes", index);
    if (slice !== null) slices.push({ ...slice, payload: await find("nodes", index, "payload") });
  }
  const output = bytesOf(text, await find("output"));
  refuseLarge({ input: null, output });
  return { head, nodes: await readNodes(text, slices, turns, { depth: depth + 1, left }), output };
}

function takeNode({ nodes, payloads }: ReceivedNodes, given: unknown, payload: Uint8Array | null, faults: Faults) {
  const index = nodes.length;
  if (nodeCheck.ok(given)) {
    if (payload !== null && payload.length > PAYLOAD_BYTES_MAX) throw tooLarge(index, given.name, payload.length);
    if (payload !== null) payloads.set(index, payload);
  } else {
    const name = nameOf(given instanceof OversizeJson ? given.head : given);
    faults.add(...nodeCheck.errors(given, faults.room).map((fault) => nodeFault(index, name, fault)));
  }
  nodes.push(given as WorkflowNodeSubmission);
}

const COMPENSATION_PAYLOAD = ["compensate", "payload"];

/** Takes the payload of the last node's compensation from the text of the node, because its numbers keep their digits there. */
async function takeCompensation({ nodes, payloads }: ReceivedNodes, text: Uint8Array, turns: Turns): Promise<void> {
  const index = nodes.length - 1;
  const { compensate } = Object(nodes[index]) as Partial<WorkflowNodeSubmission>;
  if (typeof compensate !== "object" || compensate?.payload === undefined) return;
  const found = await turns.steps(new JsonValue(text).finding(COMPENSATION_PAYLOAD));
  if (found !== null) payloads.set(compensationOf(index), text.subarray(found.start, found.end));
}

function tooLarge(index: number, name: string, bytes: number): ProblemError {
  const message = `has ${bytes} bytes: at most ${PAYLOAD_BYTES_MAX} (1 MiB) are taken`;
  const fault = nodeFault(index, name, { field: "payload", message });
  return new ProblemError(problem("payload-too-large", `${fault.field}: ${fault.message}`, [fault]));
}
