import assert from "node:assert/strict";
import { type Candidate, RUN_NODE } from "../../domain/execution.ts";
import { firstExecutionId } from "../../domain/ids.ts";
import { compileGraph } from "../../domain/workflow/compile-graph.ts";
import type { WorkflowGraph } from "../../domain/workflow/graph.ts";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import type { Batch } from "../batch.ts";
import { sealBatch } from "../machine.ts";
import { nodeOf, storedNode } from "./run-stage.ts";
import { candidate, changesOf, Story } from "./story.ts";

const NODES = [nodeOf("a", []), nodeOf("b", ["a"])];

/** A machine with the rows of workflow runs that wait. Each run has a node a, and a node b that follows from a. */
export class WaitingRuns {
  readonly story: Story;
  /** Rows of the store. A run that is left out is final. */
  readonly rows = new Map<string, Candidate>();
  readonly #graph: WorkflowGraph;
  readonly #nodes: typeof NODES;
  readonly #ids = new Set<string>();

  /** @param roots number of nodes without parents that each run has beside a and b */
  constructor(roots = 0, story = new Story()) {
    this.#nodes = [...NODES, ...Array.from({ length: roots }, (_, i) => nodeOf(`root-${i}`, []))];
    const compiled = compileGraph(this.#nodes, "FAIL_FAST");
    assert.ok("graph" in compiled);
    this.#graph = compiled.graph;
    this.story = story;
  }

  /** A run that waits. */
  run(fields: Parameters<typeof candidate>[0] = {}): Candidate {
    const jobId = `01890a5d-ac96-774b-bcce-${String(this.#ids.size).padStart(12, "0")}`;
    const row = candidate({ id: firstExecutionId(jobId), jobId, handler: "workflow", node: RUN_NODE, ...fields });
    this.#ids.add(row.id);
    this.rows.set(row.id, row);
    return row;
  }

  hint(...rows: Candidate[]): this {
    this.story.hint(...rows.map((row) => ({ ...row })));
    return this;
  }

  /** Answers the machine's questions for runs. @returns ids of the runs for which it has asked */
  answer(since = this.story.batch.number): string[] {
    const { wants, state } = this.story;
    const asked = wants.splice(0).flatMap((want) => (want.kind === "LOAD_RUNS" ? want.runs : []));
    const rows = asked.flatMap((id) => this.rows.get(id) ?? []);
    const rest = {
      graph: this.#graph,
      defined: this.#graph.nodeCount,
      executions: [],
      items: [],
      mapCounts: [],
      mode: "RUNNING",
      paused: false,
      revision: 1,
      output: null,
      outcome: null,
      kept: [],
    } as const;
    const definitions = this.#nodes.map((node) => storedNode(node, 0));
    const runs = rows.map((row) => ({
      ...rest,
      definitions,
      executions: [],
      signalled: [],
      row: { ...row },
      workflow: row.jobId,
    }));
    if (asked.length > 0) this.story.tell({ kind: "LOADED_RUNS", asked, runs, since, term: state.term });
    return asked;
  }

  /** Commits the batch; the store applies all of it. */
  commit(): Batch {
    const { batch } = this.story;
    this.story.batch = sealBatch(batch);
    for (const { id, state, queue, dueAt } of changesOf(batch)) {
      const row = this.rows.get(id);
      if (queue === "NONE") this.rows.delete(id);
      else if (row !== undefined) this.rows.set(id, { ...row, state: state as Candidate["state"], queue, dueAt });
    }
    const created = [...batch.shards.values()].flatMap(({ births }) => births.map(({ row }) => row));
    const nothing = { rows: [], notCreated: [], missedPlans: [], missedRuns: [] };
    this.story.tell({ kind: "CREATED", ...nothing, nodes: { created, notCreated: [] }, batch: batch.number });
    this.story.tell({ kind: "FREED", freed: batch.freed });
    return batch;
  }

  /** Answers questions and commits until nothing changes. @returns changes of runs, as `id state`, in order */
  settle(): string[] {
    const changes: string[] = [];
    for (let i = 0; i < 10; i++) {
      this.answer();
      changes.push(...this.changes(this.commit()));
    }
    return changes;
  }

  /** Changes of runs in a batch, as `id state`. */
  changes(batch: Batch): string[] {
    return changesOf(batch)
      .filter(({ id }) => this.#ids.has(id))
      .map(({ id, state, queue }) => `${id} ${queue === "OPEN" ? queue : state}`);
  }

  nodeId(run: Candidate, name: "a" | "b"): string {
    return nodeExecutionId(run.id, name === "a" ? 0 : 1, null, 0);
  }
}
