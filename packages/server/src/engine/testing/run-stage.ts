import assert from "node:assert/strict";
import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import { isFinal } from "../../domain/execution.ts";
import { firstExecutionId } from "../../domain/ids.ts";
import { DEFAULT_POLICY } from "../../domain/job.ts";
import { allSteps } from "../../domain/workflow/all-steps.ts";
import { compensationOf } from "../../domain/workflow/compensation-number.ts";
import { compileGraph } from "../../domain/workflow/compile-graph.ts";
import type {
  Dependency,
  StoredCompensation,
  StoredNode,
  StoredWork,
  WorkflowNode,
} from "../../domain/workflow/definition.ts";
import { encodeGraph } from "../../domain/workflow/graph-bytes.ts";
import type { MapCount } from "../../domain/workflow/map-counts.ts";
import type { MapRules } from "../../domain/workflow/map-items.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { decodePart, withDefinitions, withParts } from "../../domain/workflow/spawned-parts.ts";
import { decodeNodes, encodingNodes } from "../../domain/workflow/stored-nodes.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Spawned } from "../../ports/step-messages.ts";
import type { NodeExecution, RunMode, RunOutcome } from "../../ports/store-runs.ts";
import type { Batch } from "../batch.ts";
import type { ReadRun } from "../inputs.ts";
import { sealBatch } from "../machine.ts";
import { candidate, changesOf, START, Story } from "./story.ts";

const JOB = "01890a5d-ac96-774b-bcce-b302099a8057";
export const RUN = firstExecutionId(JOB);
/** Deadline of the run, in ms since the start of the story. */
export const DEADLINE_MS = 60_000;
const DEADLINE = START + DEADLINE_MS;

type Edges = readonly (string | Dependency)[];

/** Nodes with compensations, by name. */
interface Compensated {
  nodes: readonly string[];
  onCancel?: boolean;
}

/** Prefix of the name of a compensation. */
const UNDO = "undo ";

function compensationWork({ onCancel = false }: Compensated): StoredCompensation {
  const work = { pool: "default", handler: "echo", requires: [], priority: 7, policy: DEFAULT_POLICY };
  return { ...work, payloadBytes: 5, onCancel };
}

/** A stage with one workflow run, whose nodes are named as their numbers say: a, b, c … */
export class Stage {
  readonly story: Story;
  readonly names: string[];
  readonly #read: Omit<ReadRun, "executions" | "items" | "mode" | "paused" | "revision" | "signalled">;
  readonly shard: number;

  constructor(
    graph: Record<string, Edges>,
    onFailure: "FAIL_FAST" | "CONTINUE" = "FAIL_FAST",
    output: Uint8Array | null = null,
    compensated: Compensated = { nodes: [] },
    maps: Readonly<Record<string, MapRules>> = {},
    story = new Story().worker("w1", { slots: 100 }),
  ) {
    this.story = story;
    this.names = Object.keys(graph);
    const nodes = this.names.map((name) => {
      const rules = maps[name];
      const node = nodeOf(name, graph[name] ?? []);
      return rules === undefined ? node : { ...node, map: { from: "$input", path: [], ...rules } };
    });
    const compiled = compileGraph(nodes, onFailure);
    assert.ok("graph" in compiled, JSON.stringify(compiled));
    const row = candidate({
      id: RUN,
      jobId: JOB,
      state: "RUNNING",
      queue: "OPEN",
      dueAt: DEADLINE,
      scheduledAt: START,
    });
    this.shard = row.shard;
    this.#read = {
      row,
      workflow: JOB,
      graph: compiled.graph,
      defined: compiled.graph.nodeCount,
      kept: [],
      mapCounts: [],
      definitions: nodes.map((node) => ({
        ...storedNode(node, 3),
        ...(compensated.nodes.includes(node.name) && { compensate: compensationWork(compensated) }),
        ...(node.map !== undefined && { items: { from: -1, path: [] } }),
      })),
      outcome: null,
      output,
    };
  }

  /** Answers the question for the run. @param states states of the nodes that have rows, by name */
  load(
    states: Record<string, NodeExecution["state"] | "PARKED">,
    mode: RunMode = "RUNNING",
    paused = false,
    signalled: readonly string[] = [],
  ): this {
    const all = Object.entries(states).map(([name, word]) => {
      const isParked = word === "PARKED";
      const state = isParked ? ("PENDING" as const) : word;
      return { id: this.id(name), node: this.number(name), item: itemOf(name), state, branch: null, isParked };
    });
    const executions = all.filter(({ item, state }) => item === null || !isFinal(state));
    const items = all.flatMap(({ node, item, state }) =>
      item !== null && isFinal(state) ? [{ node, state, items: Uint32Array.of(item) }] : [],
    );
    const run = { ...this.run(executions, mode, paused), items, signalled: signalled.map((name) => this.id(name)) };
    const { term } = this.story.state;
    const since = this.story.batch.number;
    this.story.tell({ kind: "LOADED_RUNS", asked: [RUN], runs: [run], since, term });
    return this;
  }

  /** Has the run compensate its nodes when it is read. */
  compensates(outcome: RunOutcome): this {
    this.#read.outcome = outcome;
    return this;
  }

  /** Nodes that the run keeps from an earlier one, by name, with their branches. */
  keeps(nodes: Record<string, string | null>): this {
    const kept = Object.entries(nodes).map(([name, branch]) => [this.number(name), branch] as const);
    this.#read.kept = [{ run: "earlier", nodes: kept }];
    return this;
  }

  /** Maps whose items the run's row counts, by name, and their SUCCEEDED items that an earlier run has. */
  counts(counts: Record<string, MapCount["items"]>, kept: Record<string, string> = {}): this {
    this.#read.mapCounts = Object.entries(counts).map(([name, items]) => ({ node: this.number(name), items }));
    const items = Object.entries(kept).map(([name, ranges]) => [this.number(name), ranges] as const);
    if (items.length > 0) this.#read.kept = [{ run: "earlier", nodes: [], items }];
    return this;
  }

  /** Answers the question for the items of a map. */
  counted(name: string, items: MapCount["items"]): this {
    this.story.tell({ kind: "COUNTED", run: RUN, count: { node: this.number(name), items } });
    return this;
  }

  /** Gives nodes and compensations concurrency keys. @param keys keys by name */
  keys(keys: Record<string, string>): this {
    const withKey = <T extends StoredWork>(work: T, name: string): T => {
      const concurrencyKey = keys[name];
      return concurrencyKey === undefined ? work : { ...work, concurrencyKey };
    };
    this.#read.definitions = this.#read.definitions.map(({ compensate, ...node }) => {
      const undo = compensate === undefined ? {} : { compensate: withKey(compensate, `${UNDO}${node.name}`) };
      return { ...withKey(node, node.name), ...undo };
    });
    return this;
  }

  /** Has nodes run sub-workflows. @param names names of the nodes; the store has the sub-workflow under the same name */
  nests(...names: string[]): this {
    this.#read.definitions = this.#read.definitions.map((definition) =>
      names.includes(definition.name)
        ? { ...definition, handler: SUB_WORKFLOW_HANDLER, workflow: definition.name }
        : definition,
    );
    return this;
  }

  run(executions: NodeExecution[], mode: RunMode, paused: boolean): ReadRun {
    return {
      ...this.#read,
      row: { ...this.#read.row },
      executions,
      items: [],
      mode,
      paused,
      revision: 1,
      signalled: [],
    };
  }

  /** Hints a node that the api has created. */
  hint(name: string): this {
    const item = itemOf(name);
    const of = { node: this.number(name), ...(item !== null && { item }) };
    this.story.hint(candidate({ id: this.id(name), jobId: RUN, ...of, shard: this.shard }));
    return this;
  }

  /**
   * Commits the batch.
   * @param notBorn names of the nodes that the store does not create
   * @param missedRuns runs of which the store has not written the row or the end of a node
   */
  commit(notBorn: readonly string[] = [], missedRuns: readonly string[] = []): Batch {
    const { batch } = this.story;
    this.story.batch = sealBatch(batch);
    this.answer(batch, notBorn, missedRuns);
    return batch;
  }

  /** Answers the commit of a sealed batch, as `commit` does. */
  answer(batch: Batch, notBorn: readonly string[] = [], missedRuns: readonly string[] = []): void {
    const rows = batch.shards.get(this.shard)?.births.map(({ row }) => row) ?? [];
    const isNot = ({ id }: { id: string }) => notBorn.some((name) => this.id(name) === id);
    const nodes = { created: rows.filter((row) => !isNot(row)), notCreated: rows.filter(isNot) };
    const nothing = { rows: [], notCreated: [], missedPlans: [], missedRuns };
    this.story.tell({ kind: "CREATED", ...nothing, nodes, batch: batch.number });
  }

  /** Runs a node to its end. @returns the batch that has the end */
  end(assign: Assignment, state: "SUCCEEDED" | "FAILED" = "SUCCEEDED", branch?: string): void {
    const advice = state === "FAILED" ? ({ kind: "NEVER" } as const) : null;
    const error = state === "FAILED" ? { name: "Error", message: "no" } : null;
    this.story.finish(assign, { state, advice, error, ...(branch !== undefined && { branch }) });
  }

  /** Nodes that a handler adds, by name, with their edges among each other. */
  nodes(graph: Record<string, Edges>, detached: readonly string[] = []): Spawned {
    const nodes = Object.entries(graph).map(([name, edges]) => ({
      ...nodeOf(name, edges),
      ...(detached.includes(name) && { detached: true }),
    }));
    const compiled = compileGraph(nodes, "FAIL_FAST");
    assert.ok("graph" in compiled, JSON.stringify(compiled));
    const definitions = allSteps(encodingNodes(nodes.map((node) => storedNode(node, 3))));
    const payloads = nodes.map((_, node) => ({ node, payload: Buffer.from(`"${node}"`) }));
    return { graph: encodeGraph(compiled.graph), definitions, payloads };
  }

  /** Runs a node to its end, whose handler adds nodes. They have names from then on: `a/x`. */
  spawn(assign: Assignment, nodes: Spawned): this {
    this.#call(this.name(assign.executionId), nodes);
    this.story.finish(assign, { spawn: nodes });
    return this;
  }

  /** Has the run have nodes that the handler of a node has added, when it is read. */
  has(spawner: string, nodes: Spawned): this {
    const part = decodePart({ ...nodes, spawner: this.number(spawner), first: this.names.length });
    this.#call(spawner, nodes);
    this.#read.graph = withParts(this.#read.graph, [part]);
    this.#read.definitions = withDefinitions(this.#read.definitions, [part]);
    return this;
  }

  #call(spawner: string, { definitions }: Spawned): void {
    for (const { name } of decodeNodes(definitions)) this.names.push(`${spawner}/${name}`);
  }

  /** Commits until a batch assigns something. @returns assignments by the names of their nodes */
  assigned(): Record<string, Assignment> {
    const first = this.commit();
    const { assigns } = first.assigns.length > 0 ? first : this.commit();
    return Object.fromEntries(assigns.map((assign) => [this.name(assign.executionId), assign]));
  }

  born(batch: Batch): { name: string; after: string[] }[] {
    const births = batch.shards.get(this.shard)?.births ?? [];
    return births.map(({ row, after }) => ({ name: this.name(row.id), after: after.map((id) => this.name(id)) }));
  }

  /** Number of a node, or of the compensation that is named "undo" and the node. */
  number(name: string): number {
    const compensated = name.startsWith(UNDO) ? this.names.indexOf(name.slice(UNDO.length)) : null;
    return compensated === null ? this.names.indexOf(name.replace(/\[.*/, "")) : compensationOf(compensated);
  }

  /** @param name name of a node, or of the item of a map, as `a[0]` */
  id(name: string): string {
    return nodeExecutionId(RUN, this.number(name), itemOf(name), 0);
  }

  name(id: string): string {
    const items = this.names.flatMap((name) => Array.from({ length: ITEMS_NAMED }, (_, item) => `${name}[${item}]`));
    const names = this.names.flatMap((name) => [name, `${UNDO}${name}`]);
    return [...names, ...items].find((name) => this.id(name) === id) ?? id;
  }
}

/** Items of a map that have names. */
const ITEMS_NAMED = 10;

function itemOf(name: string): number | null {
  const item = /\[(\d+)\]/.exec(name)?.[1];
  return item === undefined ? null : Number(item);
}

/** Node of a workflow with the name; an edge that is a name waits for success. */
/** The part of a node's definition that the store keeps, without a compensation. */
export function storedNode(node: WorkflowNode, payloadBytes: number): StoredNode {
  const { name, pool, handler, requires, priority, policy } = node;
  return { name, pool, handler, requires, priority, policy, payloadBytes };
}

export function nodeOf(name: string, edges: Edges): WorkflowNode {
  const dependsOn = edges.map((edge) =>
    typeof edge === "string" ? ({ node: edge, when: "SUCCEEDED" } as const) : edge,
  );
  const rest = { pool: "default", handler: "echo", requires: [], priority: 5, policy: DEFAULT_POLICY };
  return { name, dependsOn, join: "ALL", allowFailure: false, ...rest };
}

/** States of the rows that a batch writes, by the names of their nodes; the run is "run". */
export function states(stage: Stage, batch: Batch): Record<string, string> {
  const changes = changesOf(batch).map(({ id, state, reason }) => {
    return [id === RUN ? "run" : stage.name(id), reason === null ? state : `${state} ${reason}`] as const;
  });
  return Object.fromEntries(changes);
}
