import { DEPTH_MAX, PAYLOAD_BYTES_MAX } from "@mainspring/contract/limits";
import { compensationOf } from "../../domain/workflow/compensation-number.ts";
import type { WorkflowNode } from "../../domain/workflow/definition.ts";
import { depthOf } from "../../ports/references/json-slices.ts";
import { invalid, ProblemError, problem } from "../http/errors.ts";
import { nodeFault } from "./node-faults.ts";

/**
 * Adds the payloads of compensations that declare none: an object with the payload of the node, its result, and the input
 * of the workflow. The payload of the node is part of the text, so its references stand for the same values again. Makes
 * steps of some milliseconds each.
 * @param payloads JSON texts by number
 * @throws {ProblemError} 413: such a payload is too large; 400: it is nested too deeply
 */
export function* withCompensations(
  nodes: readonly WorkflowNode[],
  payloads: ReadonlyMap<number, Uint8Array>,
  hasInput: boolean,
): Generator<undefined, Map<number, Uint8Array>> {
  const all = new Map(payloads);
  for (const [node, { name, compensate }] of nodes.entries()) {
    const number = compensationOf(node);
    if (compensate === undefined || all.has(number)) continue;
    const text = defaultPayload(name, payloads.get(node) ?? null, hasInput);
    if (text.length > PAYLOAD_BYTES_MAX) throw tooLarge(node, name, text.length);
    if (depthOf(text, { start: 0, end: text.length }) > DEPTH_MAX) throw tooDeep(node, name);
    all.set(number, text);
    yield;
  }
  return all;
}

function defaultPayload(name: string, payload: Uint8Array | null, hasInput: boolean): Buffer {
  const input = hasInput ? '{"$from":"$input"}' : "null";
  const head = Buffer.from('{"payload":');
  const tail = Buffer.from(`,"result":{"$from":${JSON.stringify(name)}},"input":${input}}`);
  return Buffer.concat([head, payload ?? Buffer.from("null"), tail]);
}

function tooDeep(node: number, name: string): ProblemError {
  const message = `is left out, and with the payload of the node it is nested deeper than ${DEPTH_MAX} levels. Name the parts that it needs`;
  return new ProblemError(invalid([nodeFault(node, name, { field: "compensate.payload", message })]));
}

function tooLarge(node: number, name: string, bytes: number): ProblemError {
  const message = `is left out, and with the payload of the node it has ${bytes} bytes: at most ${PAYLOAD_BYTES_MAX} are taken. Name the parts that it needs`;
  const fault = nodeFault(node, name, { field: "compensate.payload", message });
  return new ProblemError(problem("payload-too-large", `${fault.field}: ${fault.message}`, [fault]));
}
