import { FINAL_STATES } from "@mainspring/contract/enums";
import { printable, type Workflow, type WorkflowGraph, type WorkflowNodeState } from "@mainspring/sdk";
import { bar } from "./live-lines.ts";
import { countsText, modeText } from "./workflow-text.ts";

type Node = WorkflowGraph["nodes"][number];

/** Change of a run between two looks at it, in the form for programs. */
export interface WorkflowChange extends Pick<Workflow, "workflowId" | "state" | "mode" | "paused" | "counts"> {
  /** Nodes with a new state. The first change has all nodes. */
  changed: { node: string; state: WorkflowNodeState }[];
}

/** States of nodes that a terminal shows, the most important first. */
const SHOWN: readonly WorkflowNodeState[] = ["DEAD", "RUNNING", "SCHEDULED", "PENDING"];
/** Lines above the nodes on a terminal. */
const HEAD_LINES = 2;

/** A run as a command follows it, from one look to the next. */
export class WatchedWorkflow {
  #run: Workflow | null = null;
  #nodes: readonly Node[] = [];
  #states = new Map<string, WorkflowNodeState>();
  /** Sentences about the changes that `see` found last. */
  #said: { text: string; isPermanent: boolean }[] = [];

  /** Compares the run with the last look at it. @returns null: nothing has changed */
  see(run: Workflow, nodes: readonly Node[]): WorkflowChange | null {
    const changed = nodes.filter(({ name, state }) => this.#states.get(name) !== state);
    const isNews = this.#run?.state !== run.state || modeText(this.#run) !== modeText(run);
    this.#said = this.#run === null ? [] : changed.map((node) => this.#nodeSentence(node, run));
    if (isNews) this.#said.push({ text: runSentence(run), isPermanent: true });
    this.#run = run;
    this.#nodes = nodes;
    for (const { name, state } of changed) this.#states.set(name, state);
    if (changed.length === 0 && !isNews) return null;
    const { workflowId, state, mode, paused, counts } = run;
    return {
      workflowId,
      state,
      mode,
      paused,
      counts,
      changed: changed.map(({ name, state }) => ({ node: name, state })),
    };
  }

  /**
   * Sentences about the changes of the last look.
   * @param hasLines whether `lines` are shown, so that only the run and failures need sentences
   */
  say(hasLines: boolean): string[] {
    return this.#said.filter(({ isPermanent }) => isPermanent || !hasLines).map(({ text }) => text);
  }

  /** The run on a few lines: how far it is, and the nodes that failed or run. */
  lines(max: number): string[] {
    const run = this.#run;
    if (run === null) return [];
    const final = this.#nodes.filter(({ state }) => isFinal(state)).length;
    const share = this.#nodes.length === 0 ? 0 : final / this.#nodes.length;
    const head = [
      `${run.workflowId}  ${run.state}  ${modeText(run) ?? "-"}  ${bar(share)}`,
      `nodes ${countsText(run)}`,
    ];
    const shown = SHOWN.flatMap((wanted) => this.#nodes.filter(({ state }) => state === wanted));
    const room = Math.max(1, max - HEAD_LINES);
    const rows = shown.length <= room ? shown : shown.slice(0, room - 1);
    const lines = rows.map(({ name, state, handler }) => printable(`  ${state.padEnd(9)}  ${name}  ${handler}`));
    const more = shown.length - rows.length;
    return [...head, ...lines, ...(more > 0 ? [`  … and ${more} more`] : [])];
  }

  #nodeSentence({ name, state }: Node, { failed }: Workflow): { text: string; isPermanent: boolean } {
    const before = this.#states.get(name) ?? "BLOCKED";
    const error = state === "DEAD" ? failed.find((one) => one.name === name)?.error : null;
    const why = error == null ? "" : `: ${error.name}: ${error.message}`;
    return { text: printable(`node ${name} is ${state}, was ${before}${why}`), isPermanent: state === "DEAD" };
  }
}

function runSentence(run: Workflow): string {
  const { workflowId, state, error, finishedAt } = run;
  const how = finishedAt === null ? `${state} in mode ${modeText(run)}` : state;
  const why = error === null ? "" : `: ${error.name}: ${error.message}`;
  return printable(`workflow ${workflowId} is ${how}, nodes ${countsText(run)}${why}`);
}

/** Whether this is the last state of a run, or of a node. */
export function isFinal(state: WorkflowNodeState): boolean {
  return (FINAL_STATES as readonly WorkflowNodeState[]).includes(state);
}
