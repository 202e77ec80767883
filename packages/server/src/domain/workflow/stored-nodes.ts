import type { ExecutionPolicy } from "../job.ts";
import { allSteps } from "./all-steps.ts";
import type { StoredNode } from "./definition.ts";

/**
 * Definitions of a workflow's nodes as the store keeps them: lines of JSON, each an array of nodes. A policy that an
 * earlier node has is a number: the number of distinct policies before it.
 */

/** Number of nodes on a line, and in one step of encoding and decoding. */
const LINE_NODES = 500;
const NEW_LINE = 0x0a;

/** Every runtime has these. The types of the pure part know none of a runtime. */
declare const TextEncoder: new () => { encode(text: string): Uint8Array };
declare const TextDecoder: new () => { decode(bytes: Uint8Array): string };

type WrittenNode = Omit<StoredNode, "policy"> & { policy: ExecutionPolicy | number };

/** Encodes the definitions in steps of a few milliseconds each. */
export function* encodingNodes(nodes: readonly StoredNode[]): Generator<undefined, Uint8Array> {
  const policies = new Map<string, number>();
  const lines: string[] = [];
  for (let from = 0; from < nodes.length; from += LINE_NODES) {
    lines.push(JSON.stringify(nodes.slice(from, from + LINE_NODES).map((node) => written(node, policies))));
    yield;
  }
  return new TextEncoder().encode(lines.join("\n"));
}

/** Decodes the definitions in steps of a few milliseconds each. Nodes with the same policy share the object. */
export function* decodingNodes(bytes: Uint8Array): Generator<undefined, StoredNode[]> {
  const policies: ExecutionPolicy[] = [];
  const nodes: StoredNode[] = [];
  for (const line of linesOf(bytes)) {
    for (const { policy, ...node } of JSON.parse(line) as WrittenNode[]) {
      if (typeof policy !== "number") policies.push(policy);
      nodes.push({ ...node, policy: typeof policy === "number" ? (policies[policy] as ExecutionPolicy) : policy });
    }
    yield;
  }
  return nodes;
}

/** Decodes the definitions at once. */
export function decodeNodes(bytes: Uint8Array): StoredNode[] {
  return allSteps(decodingNodes(bytes));
}

function written(node: StoredNode, policies: Map<string, number>): WrittenNode {
  const text = JSON.stringify(node.policy);
  const known = policies.get(text);
  if (known === undefined) policies.set(text, policies.size);
  return { ...node, policy: known ?? node.policy };
}

function* linesOf(bytes: Uint8Array): Generator<string> {
  const decoder = new TextDecoder();
  for (let from = 0; from < bytes.length; ) {
    const found = bytes.indexOf(NEW_LINE, from);
    const end = found < 0 ? bytes.length : found;
    yield decoder.decode(bytes.subarray(from, end));
    from = end + 1;
  }
}
