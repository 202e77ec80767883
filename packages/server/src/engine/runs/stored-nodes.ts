import type { WorkflowNode } from "../../domain/workflow/definition.ts";

/** The part of a node's definition that its execution copies, and the name for messages. */
export interface StoredNode extends Pick<
  WorkflowNode,
  "name" | "pool" | "handler" | "requires" | "priority" | "policy"
> {
  payloadBytes: number;
}

/** Definitions of all nodes as the store keeps them. */
export function encodeNodes(nodes: readonly StoredNode[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(nodes));
}

export function decodeNodes(bytes: Uint8Array): StoredNode[] {
  return JSON.parse(new TextDecoder().decode(bytes)) as StoredNode[];
}
