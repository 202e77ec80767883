import type { ExecutionId, JobId } from "../../../domain/ids.ts";
import type { NestedGraph, NewPart, NodePayload, StoredPart, StoredWorkflow } from "../../../ports/store-runs.ts";
import type { Body } from "../bodies.ts";
import { idBytes, u32 } from "../bytes.ts";
import type { RedisAnswer, RedisConnection } from "../redis-connection.ts";

/**
 * Graphs of workflows and parts of runs: bodies that are hashes. Their fields are `n` (number of nodes), `g` (graph), `d` (definitions), and
 * `p` with the number of a node (its payload); those of a graph are also `o` (output), those of a part `s` (its spawner).
 */

/** Graphs of one call. A graph has up to some MiB. */
const PER_CALL = 8;
/** Graphs whose numbers of nodes one call reads. */
const SIZES_PER_CALL = 500;

/** Name of the graph of a workflow, or of a sub-workflow by its own id. */
export function graphName(workflow: JobId, version: number): Buffer {
  return Buffer.concat([Buffer.from("b"), idBytes(workflow), Buffer.from("g"), u32(version)]);
}

/** Name of the nodes that an attempt has added to a run. Another attempt may add other ones in their place. */
export function partName(run: ExecutionId, first: number, attempt: number): Buffer {
  return Buffer.concat([Buffer.from("b"), idBytes(run), Buffer.from("s"), u32(first), u32(attempt)]);
}

export function payloadField(node: number): Buffer {
  return Buffer.concat([Buffer.from("p"), u32(node)]);
}

/** Bodies of the first version of a workflow's graph. */
export function graphBodies({ id, nodes, graph, definitions, output, payloads }: NestedGraph): Body[] {
  const name = graphName(id, 1);
  return [
    { name, field: "n", bytes: Buffer.from(`${nodes}`) },
    { name, field: "g", bytes: graph },
    { name, field: "d", bytes: definitions },
    ...(output === null ? [] : [{ name, field: "o", bytes: output }]),
    ...payloadBodies(name, payloads),
  ];
}

/** Bodies of a part. @param attempt attempt of the spawner */
export function partBodies(
  { run, spawner, first, nodes, graph, definitions, payloads }: NewPart,
  attempt: number,
): Body[] {
  const name = partName(run, first, attempt);
  return [
    { name, field: "s", bytes: Buffer.from(`${spawner}`) },
    { name, field: "n", bytes: Buffer.from(`${nodes}`) },
    { name, field: "g", bytes: graph },
    { name, field: "d", bytes: definitions },
    ...payloadBodies(name, payloads),
  ];
}

function payloadBodies(name: Buffer, payloads: readonly NodePayload[]): Body[] {
  return payloads.map(({ node, payload }) => ({ name, field: payloadField(node), bytes: payload }));
}

export interface StoredGraph extends StoredWorkflow {
  nodes: number;
}

/** Graphs by their names, in order; null: there is none. */
export async function readGraphs(db: RedisConnection, names: readonly Buffer[]): Promise<(StoredGraph | null)[]> {
  return (await readFields(db, names, ["n", "g", "d", "o"])).map(([nodes, graph, definitions, output]) =>
    nodes == null
      ? null
      : { nodes: Number(nodes), graph: graph as Buffer, definitions: definitions as Buffer, output: output ?? null },
  );
}

/** Numbers of nodes of graphs by their names, in order; 0: there is no such graph. */
export async function readSizes(db: RedisConnection, names: readonly Buffer[]): Promise<number[]> {
  const found: number[] = [];
  for (let from = 0; from < names.length; from += SIZES_PER_CALL) {
    const answers = await db.call(names.slice(from, from + SIZES_PER_CALL).map((name) => ["HGET", db.key(name), "n"]));
    found.push(...answers.map((answer) => Number(answer ?? 0)));
  }
  return found;
}

/** Parts of a run, in the order asked for. */
export async function readParts(
  db: RedisConnection,
  parts: readonly { first: number; name: Buffer }[],
): Promise<StoredPart[]> {
  const found = await readFields(
    db,
    parts.map(({ name }) => name),
    ["s", "n", "g", "d"],
  );
  return found.map(([spawner, nodes, graph, definitions], i) => ({
    ...{ spawner: Number(spawner), first: (parts[i] as { first: number }).first, nodes: Number(nodes) },
    ...{ graph: graph as Buffer, definitions: definitions as Buffer },
  }));
}

async function readFields(db: RedisConnection, names: readonly Buffer[], fields: readonly string[]) {
  const found: (Buffer | null)[][] = [];
  for (let from = 0; from < names.length; from += PER_CALL) {
    const part = names.slice(from, from + PER_CALL);
    const answers: RedisAnswer[] = await db.call(part.map((name) => ["HMGET", db.key(name), ...fields]));
    found.push(...(answers as (Buffer | null)[][]));
  }
  return found;
}
