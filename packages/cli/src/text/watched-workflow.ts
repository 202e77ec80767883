import { FINAL_STATES, NODE_STATES } from "@mainspring/contract/enums";
import {
  printable,
  type Workflow,
  type WorkflowEvent,
  type WorkflowGraph,
  type WorkflowNode,
  type WorkflowNodeState,
} from "@mainspring/sdk";
import { bar } from "./live-lines.ts";
import { graphText } from "./workflow-graph-text.ts";
import { countsText, modeText } from "./workflow-text.ts";

/** Change of a run, in the form for programs. */
export interface WorkflowChange extends Pick<Workflow, "workflowId" | "state" | "mode" | "paused" | "counts"> {
  /** Nodes with a new state. The first change has all nodes. */
  changed: { node: string; state: WorkflowNodeState; compensation?: WorkflowNodeState }[];
}

/** States of nodes that a terminal lists, the most important first. */
const LISTED: readonly WorkflowNodeState[] = ["DEAD", "RUNNING", "SCHEDULED", "PENDING"];
/** Lines above the nodes on a terminal, and those that the picture of a graph needs beside its nodes. */
const HEAD_LINES = 2;
const PICTURE_LINES = 4;

/** A run as a command follows it, from one event to the next. */
export class WatchedWorkflow {
  #graph: WorkflowGraph;
  readonly #states: Map<string, WorkflowNodeState>;
  /** States of compensations by node. */
  readonly #compensations: Map<string, WorkflowNodeState | null>;
  #run: Workflow | null = null;
  /** Sentence about the last event; null: it changed nothing. */
  #said: { text: string; isPermanent: boolean } | null = null;

  /** @param graph graph with states from before the first event */
  constructor(graph: WorkflowGraph) {
    this.#graph = graph;
    this.#states = new Map(graph.nodes.map(({ name, state }) => [name, state]));
    this.#compensations = new Map(graph.nodes.map(({ name, compensation }) => [name, compensation]));
  }

  /** Last state of the run; null: no event has told it. */
  get state(): Workflow["state"] | null {
    return this.#run?.state ?? null;
  }

  /** Whether the graph has a node of this name. Handlers add nodes while the run is followed. */
  knows(name: string): boolean {
    return this.#states.has(name);
  }

  /** Takes over a newer graph. Its further nodes count as BLOCKED until an event tells their states. */
  extend(graph: WorkflowGraph): void {
    this.#graph = graph;
    for (const { name } of graph.nodes) if (!this.knows(name)) this.#states.set(name, "BLOCKED");
  }

  /** Takes note of an event. @returns null: nothing has changed, or the run is not known yet */
  see(event: WorkflowEvent): WorkflowChange | null {
    this.#said = null;
    return event.type === "workflow" ? this.#seeRun(event.workflow) : this.#seeNode(event.node);
  }

  #seeRun(run: Workflow): WorkflowChange | null {
    const before = this.#run;
    this.#run = run;
    if (before !== null && before.state === run.state && modeText(before) === modeText(run)) return null;
    this.#said = { text: this.#runSentence(run), isPermanent: true };
    const names = before === null ? [...this.#states.keys()] : [];
    return this.#change(run, names);
  }

  #seeNode(node: WorkflowNode): WorkflowChange | null {
    const { name, state, error } = node;
    const before = this.#states.get(name);
    const undone = this.#seeCompensation(node);
    this.#states.set(name, state);
    if (this.#run === null || (before === state && undone === null)) return null;
    if (undone !== null) {
      this.#said = undone;
      return this.#change(this.#run, [name]);
    }
    const why = state !== "DEAD" || error === null ? "" : `: ${error.name}: ${error.message}`;
    const text = printable(`node ${name} is ${state}, was ${before ?? "BLOCKED"}${why}`);
    this.#said = { text, isPermanent: state === "DEAD" };
    return this.#change(this.#run, [name]);
  }

  /** @returns sentence about the compensation of a node; null: its state is the same */
  #seeCompensation({ name, compensation }: WorkflowNode): { text: string; isPermanent: boolean } | null {
    const state = compensation?.state ?? null;
    if (this.#compensations.get(name) === state) return null;
    this.#compensations.set(name, state);
    if (state === null) return null;
    const error = compensation?.error ?? null;
    const why = state !== "DEAD" || error === null ? "" : `: ${error.name}: ${error.message}`;
    return { text: printable(`compensation of node ${name} is ${state}${why}`), isPermanent: state === "DEAD" };
  }

  #change({ workflowId, state, mode, paused }: Workflow, names: readonly string[]): WorkflowChange {
    const changed = names.map((node) => {
      const compensation = this.#compensations.get(node) ?? null;
      return { node, state: this.#states.get(node) ?? "BLOCKED", ...(compensation !== null && { compensation }) };
    });
    return { workflowId, state, mode, paused, counts: this.#counts(), changed };
  }

  /** Number of nodes by state, which the events of nodes bring up to date. */
  #counts(): Workflow["counts"] {
    const counts = Object.fromEntries(NODE_STATES.map((state) => [state, 0])) as Workflow["counts"];
    for (const state of this.#states.values()) counts[state]++;
    return counts;
  }

  /**
   * Sentence about the last event; null: none.
   * @param hasLines whether `lines` are shown, so that only the run and failures need sentences
   */
  say(hasLines: boolean): string | null {
    return this.#said === null || (hasLines && !this.#said.isPermanent) ? null : this.#said.text;
  }

  /** The run on some lines: how far it is, and its graph, or the nodes that failed or run where the graph is too large. */
  lines(max: number): string[] {
    const run = this.#run;
    if (run === null) return [];
    const { size } = this.#states;
    const final = [...this.#states.values()].filter(isFinal).length;
    const share = size === 0 ? 0 : final / size;
    const head = [
      `${run.workflowId}  ${run.state}  ${modeText(run) ?? "-"}  ${bar(share)}`,
      `nodes ${countsText({ nodes: size, counts: this.#counts() })}`,
    ];
    const room = Math.max(1, max - HEAD_LINES);
    // A layer has a line for each node, and one above it.
    return [...head, ...(2 * size + PICTURE_LINES <= room ? this.#picture(room) : this.#list(room))];
  }

  #picture(room: number): string[] {
    const nodes = this.#graph.nodes.map((node) => ({
      ...{ ...node, state: this.#states.get(node.name) ?? node.state },
      compensation: this.#compensations.get(node.name) ?? null,
    }));
    return ["", ...graphText({ ...this.#graph, nodes }, room - 1).split("\n")];
  }

  #list(room: number): string[] {
    const shown = LISTED.flatMap((wanted) => this.#graph.nodes.filter(({ name }) => this.#states.get(name) === wanted));
    const rows = shown.length <= room ? shown : shown.slice(0, room - 1);
    const lines = rows.map(({ name, handler }) =>
      printable(`  ${(this.#states.get(name) ?? "").padEnd(9)}  ${name}  ${handler}`),
    );
    const more = shown.length - rows.length;
    return [...lines, ...(more > 0 ? [`  … and ${more} more`] : [])];
  }

  #runSentence(run: Workflow): string {
    const { workflowId, state, error, finishedAt } = run;
    const how = finishedAt === null ? `${state} in mode ${modeText(run)}` : state;
    const why = error === null ? "" : `: ${error.name}: ${error.message}`;
    const counts = countsText({ nodes: this.#states.size, counts: this.#counts() });
    return printable(`workflow ${workflowId} is ${how}, nodes ${counts}${why}`);
  }
}

/** Whether this is the last state of a run, or of a node. */
function isFinal(state: WorkflowNodeState): boolean {
  return (FINAL_STATES as readonly WorkflowNodeState[]).includes(state);
}
