import type { StoredNode } from "../domain/workflow/definition.ts";

/** Definitions of a workflow's nodes as the store keeps them: a JSON text. */

export function encodeNodes(nodes: readonly StoredNode[]): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(nodes));
}

export function decodeNodes(bytes: Uint8Array): StoredNode[] {
  return JSON.parse(new TextDecoder().decode(bytes)) as StoredNode[];
}
