import { isUtf8 } from "node:buffer";
import { SpawnedNodeDefinition } from "@mainspring/contract";
import {
  DEPTH_MAX,
  SPAWN_BYTES_MAX,
  SPAWN_EDGES_MAX,
  SPAWN_NODES_MAX,
  WORKFLOW_REFERENCES_MAX,
} from "@mainspring/contract/limits";
import type { SpawnedNode } from "@mainspring/proto";
import { Compile } from "typebox/compile";
import type { ExecutionError } from "../../domain/execution.ts";
import { PRIORITIES } from "../../domain/job.ts";
import { jsonFault } from "../../domain/json-text.ts";
import { policyOf } from "../../domain/policy-of.ts";
import { allSteps } from "../../domain/workflow/all-steps.ts";
import { compileGraph, type GraphNode } from "../../domain/workflow/compile-graph.ts";
import type { Condition, StoredNode } from "../../domain/workflow/definition.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { encodeGraph } from "../../domain/workflow/graph-bytes.ts";
import { encodingNodes } from "../../domain/workflow/stored-nodes.ts";
import { strangers } from "../../domain/workflow/strangers.ts";
import { encodePartTemplate, SPAWNER, type Template } from "../../ports/references/template.ts";
import { numberOf, scanningTemplate } from "../../ports/references/template-scan.ts";
import type { Spawned } from "../../ports/step-messages.ts";
import { schemaFault } from "./schema-fault.ts";

const schema = Compile(SpawnedNodeDefinition);

const SOURCES = "references take such nodes, $spawner and $input";

/** Fault of the nodes that a handler adds. */
class Fault extends Error {
  override readonly name = "InvalidSpawn";
}

/**
 * Checks and compiles the nodes that a handler adds to its run.
 * @param pool pool of nodes that name none
 * @param namePool stored name of the pool that a node means; null: its tenant may not use the pool
 * @returns the error with which the attempt fails, if no run could take the nodes
 */
export function spawnedOf(
  nodes: readonly SpawnedNode[],
  pool: string,
  namePool: (name: string) => string | null = (name) => name,
): Spawned | ExecutionError {
  const bytes = nodes.reduce((sum, node) => sum + node.name.length + node.definition.length + node.payload.length, 0);
  if (nodes.length > SPAWN_NODES_MAX || bytes > SPAWN_BYTES_MAX) {
    const most = `${SPAWN_NODES_MAX} nodes with ${SPAWN_BYTES_MAX} bytes are possible`;
    return {
      name: "SpawnTooLarge",
      message: `the attempt adds ${nodes.length} nodes with ${bytes} bytes: at most ${most}`,
    };
  }
  try {
    return compiled(nodes, (name) => (name === undefined ? pool : namePool(name)));
  } catch (error) {
    if (error instanceof Fault) return { name: error.name, message: `ctx.spawn: ${error.message}` };
    throw error;
  }
}

/** @throws {Fault} */
function compiled(nodes: readonly SpawnedNode[], poolOf: (name: string | undefined) => string | null): Spawned {
  const definitions = nodes.map(definitionOf);
  const edges = definitions.reduce((sum, { dependsOn = [] }) => sum + dependsOn.length, 0);
  if (edges > SPAWN_EDGES_MAX)
    throw new Fault(`there are ${edges} dependencies: at most ${SPAWN_EDGES_MAX} are possible`);
  const graph = graphOf(nodes, definitions);
  const payloads = new PayloadCompiler(nodes).compiled(graph);
  const stored = definitions.map((definition, node): StoredNode => {
    const { target, priority = PRIORITIES.NORMAL } = definition;
    const pool = poolOf(target.pool);
    if (pool === null) {
      const shown = JSON.stringify(nodes[node]?.name.slice(0, 100));
      throw new Fault(`node ${shown}: target.pool is not among the pools of the tenant`);
    }
    return {
      ...{ name: nodes[node]?.name ?? "", pool, handler: target.handler },
      requires: [...new Set(target.requires)].sort(),
      priority: typeof priority === "string" ? PRIORITIES[priority] : priority,
      policy: policyOf(definition, null),
      payloadBytes: payloads.get(node)?.length ?? 0,
    };
  });
  return {
    graph: encodeGraph(graph),
    definitions: allSteps(encodingNodes(stored)),
    payloads: Array.from(payloads, ([node, payload]) => ({ node, payload })),
  };
}

/** @throws {Fault} the text is no definition */
function definitionOf({ name, definition }: SpawnedNode): SpawnedNodeDefinition {
  const shown = JSON.stringify(name.slice(0, 100));
  const fault = isUtf8(definition) ? jsonFault(definition, DEPTH_MAX) : "it is not valid UTF-8";
  if (fault !== null) throw new Fault(`node ${shown} has no valid definition: ${fault}`);
  const given: unknown = JSON.parse(Buffer.from(definition).toString());
  if (schema.Check(given)) {
    const { initialDelayMs, maxDelayMs } = given.retryPolicy ?? {};
    if (initialDelayMs === undefined || maxDelayMs === undefined || maxDelayMs >= initialDelayMs) return given;
    throw new Fault(`node ${shown}: retryPolicy.maxDelayMs must be at least initialDelayMs`);
  }
  throw new Fault(`node ${shown}: ${schemaFault(SpawnedNodeDefinition, schema.Errors(given))}`);
}

/** @throws {Fault} the nodes are no graph */
function graphOf(nodes: readonly SpawnedNode[], definitions: readonly SpawnedNodeDefinition[]): WorkflowGraph {
  const linked = definitions.map(
    ({ dependsOn = [], join = "ALL", allowFailure = false, detached }, node): GraphNode => {
      const edges = dependsOn.map((edge) =>
        typeof edge === "string"
          ? { node: edge, when: "SUCCEEDED" as const }
          : { node: edge.node, when: (edge.when ?? "SUCCEEDED") as Condition },
      );
      return {
        ...{ name: nodes[node]?.name ?? "", dependsOn: edges, join, allowFailure },
        ...(detached === true && { detached }),
      };
    },
  );
  const result = compileGraph(linked, "FAIL_FAST");
  if ("graph" in result) return result.graph;
  const [problem] = result.problems;
  const rest = problem?.kind === "UNKNOWN_PARENT" ? " that the attempt adds. All of them start after its own node" : "";
  throw new Fault(`${problem?.text ?? "the nodes are no graph"}${rest}`);
}

/** Compiles the payloads of the nodes that a handler adds. */
class PayloadCompiler {
  readonly #nodes: readonly SpawnedNode[];
  readonly #numbers: ReadonlyMap<string, number>;
  /** Other nodes of the part that each node refers to. */
  readonly #referrals = new Map<number, Set<number>>();
  #count = 0;

  constructor(nodes: readonly SpawnedNode[]) {
    this.#nodes = nodes;
    this.#numbers = new Map([["$spawner", SPAWNER], ...nodes.map(({ name }, node) => [name, node] as const)]);
  }

  /** @throws {Fault} a payload is no JSON, or a reference is wrong */
  compiled(graph: WorkflowGraph): Map<number, Uint8Array> {
    const payloads = new Map<number, Uint8Array>();
    for (const [node, { payload }] of this.#nodes.entries()) {
      if (payload.length > 0) payloads.set(node, this.#payload(node, payload));
    }
    const [stranger] = allSteps(strangers(graph, this.#referrals));
    if (stranger === undefined) return payloads;
    const from = JSON.stringify(this.#nodes[stranger.from]?.name);
    const rest = "add it to dependsOn, because only the nodes before a node have results for it";
    throw this.#fault(stranger.node, `refers to ${from}, which need not end before it: ${rest}`);
  }

  #payload(node: number, text: Uint8Array): Uint8Array {
    const fault = isUtf8(text) ? jsonFault(text, DEPTH_MAX) : "it is not valid UTF-8";
    if (fault !== null) throw this.#fault(node, `has no valid payload: ${fault}`);
    const scanned = allSteps(scanningTemplate(text));
    if ("problem" in scanned) throw this.#fault(node, scanned.problem);
    if (scanned.edits.length === 0) return text;
    this.#count += scanned.edits.length;
    if (this.#count > WORKFLOW_REFERENCES_MAX) {
      throw this.#fault(node, `is beyond the limit of ${WORKFLOW_REFERENCES_MAX} references and literals`);
    }
    const edits = scanned.edits.map((edit): Template["edits"][number] => {
      if ("value" in edit) return edit;
      if ("from" in edit) return { ...edit, from: this.#source(node, edit.from) };
      const key = "results" in edit ? "$results, and added nodes are no maps" : "$item or $index, and is no map";
      throw this.#fault(node, `has ${key}`);
    });
    return encodePartTemplate({ text, edits });
  }

  #source(node: number, name: string): number {
    const from = numberOf(name, this.#numbers);
    if (from === undefined) {
      throw this.#fault(node, `refers to ${JSON.stringify(name)}, which is no node that the attempt adds: ${SOURCES}`);
    }
    if (from >= 0) this.#referrals.set(node, (this.#referrals.get(node) ?? new Set()).add(from));
    return from;
  }

  #fault(node: number, message: string): Fault {
    return new Fault(`node ${JSON.stringify(this.#nodes[node]?.name)} ${message}`);
  }
}
