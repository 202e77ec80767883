import { WorkflowNodeSubmission } from "@mainspring/contract";
import { NODE_PARSED_BYTES_MAX, PAYLOAD_BYTES_MAX } from "@mainspring/contract/limits";
import { compensationOf } from "../../domain/workflow/compensation-number.ts";
import { JsonValue } from "../../ports/references/json-value.ts";
import type { Turns } from "../../ports/turns.ts";
import { OversizeJson } from "../http/body/json-body.ts";
import { groupsOf, type JobSlice, parseJobs } from "../http/body/json-parts.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import { compileCheck } from "../http/validation.ts";
import { bytesOf } from "../submit/submit-route.ts";
import { Faults, nameOf, nodeFault } from "./node-faults.ts";

const nodeCheck = compileCheck(WorkflowNodeSubmission);

/** Nodes of a request that meet their schema, with their payloads. */
export interface ReceivedNodes {
  nodes: WorkflowNodeSubmission[];
  /** Payloads as JSON texts, by number of the node or of its compensation; those without one are left out. */
  payloads: Map<number, Uint8Array>;
}

/**
 * Parses the nodes of a request and checks each of them, in turns of the event loop.
 * @throws {ProblemError} 400 with the first faults, each with the name of its node; 413 for a payload that is too large
 */
export async function readNodes(bytes: Buffer, slices: readonly JobSlice[], turns: Turns): Promise<ReceivedNodes> {
  const received: ReceivedNodes = { nodes: [], payloads: new Map() };
  const faults = new Faults();
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
  return received;
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
