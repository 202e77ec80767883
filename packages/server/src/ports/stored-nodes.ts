import type { StoredNode } from "../domain/workflow/definition.ts";

/** Definitions of a workflow's nodes as the store keeps them: a JSON text. */

/** Number of nodes that one step encodes. */
const STEP_NODES = 500;

/** Encodes the definitions in steps of a few milliseconds each. */
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
