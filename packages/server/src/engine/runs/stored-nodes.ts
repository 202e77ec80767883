import type { WorkflowNode } from "../../domain/workflow/definition.ts";

/** The part of a node's definition that its execution copies, and the name for messages. */
export interface StoredNode
  extends Pick<WorkflowNode, "name" | "pool" | "handler" | "requires" | "priority" | "policy"> {
  payloadBytes: number;
}

/** Definitions of all nodes as the store keeps them. */
export function encodeNodes(nodes: readonly StoredNode[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(nodes));
}

/** Number of nodes that one step encodes. */
const STEP_NODES = 500;

/** Does the same as `encodeNodes` in steps of a few milliseconds each. */
export function* encodingNodes(nodes: readonly StoredNode[]): Generator<undefined, Uint8Array> {
  const pieces: string[] = [];
  for (let from = 0; from < nodes.length; from += STEP_NODES) {
    pieces.push(JSON.stringify(nodes.slice(from, from + STEP_NODES)).slice(1, -1));
    yield;
  }
  return new TextEncoder().encode(`[${pieces.join(",")}]`);
}

export function decodeNodes(bytes: Uint8Array): StoredNode[] {
  return JSON.parse(new TextDecoder().decode(bytes)) as StoredNode[];
}
