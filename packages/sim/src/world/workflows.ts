import { DEFAULT_ORDERING, newWorkflow, runOf } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { EPOCH_MS } from "../sim-process.ts";
import type { PlannedPart } from "./changes.ts";
import { RunActs, somePauses } from "./run-acts.ts";
import type { SimServer } from "./sim-server.ts";
import { waitsOf } from "./some-definition.ts";
import { compiled, type SomeGraph, someGraph } from "./some-graph.ts";

const ANSWER_WITHIN_MS = 5_000;
const RETRY_MS = 400;
/** One in this number of seeds has workflows. Other seeds stay unchanged. */
const WORKFLOWS_EVERY = 10;
/** One in this number of seeds also has acts on the runs of its workflows. */
const ACTS_EVERY = 20;
/** Longest sleep of a node's handler, in milliseconds. */
const WAIT_MAX_MS = 120_000;

interface PlannedWorkflow {
  key: string;
  graph: SomeGraph;
  timeoutMs: number;
  cancelAfterMs: number | null;
  pauses: ReturnType<typeof somePauses>;
}

/** Clients that submit workflows at random times, repeat a submit until it is answered, and cancel some runs. */
export class Workflows {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  #open = 0;
  /** Workflows by the id of their job, for the checkers. */
  readonly known = new Map<string, SomeGraph>();
  readonly #acts: RunActs;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
    this.#acts = new RunActs(clock, server);
  }

  /** Number of submits without an answer. */
  get open(): number {
    return this.#open;
  }

  /**
   * Plans the workflows of a seed that has them. In some of these seeds, runs are paused and resumed, and some handlers
   * sleep or wait for signals.
   */
  plan(seed: number, count: number, withinMs: number, only: PlannedPart): void {
    if (seed % WORKFLOWS_EVERY !== WORKFLOWS_EVERY - 2) return;
    const hasActs = seed % ACTS_EVERY === ACTS_EVERY - 2;
    for (let number = 1; number <= count; number++) {
      const random = this.#random;
      const atMs = random.next() * withinMs;
      const key = `workflow-${number}`;
      const workflow: PlannedWorkflow = {
        key,
        graph: someGraph(random, key),
        timeoutMs: random.chance(0.1) ? random.between(1, 60) * 1_000 : 7_200_000,
        cancelAfterMs: random.chance(0.1) ? random.between(0, random.pick([50, 20_000])) : null,
        pauses: hasActs ? somePauses(random.fork(`pauses of ${key}`)) : [],
      };
      if (hasActs) {
        for (const [node, work] of workflow.graph.works.entries())
          work.waits = waitsOf(random.fork(`waits of ${key} ${node}`), WAIT_MAX_MS);
      }
      if (atMs > only.untilMs || !only.isWanted(number)) continue;
      this.#open++;
      this.#clock.plan(atMs, () => this.#ask(workflow));
    }
  }

  #ask(workflow: PlannedWorkflow): void {
    let isOver = false;
    const once = (then: () => void) => {
      if (!isOver) then();
      isOver = true;
    };
    const again = () => once(() => void this.#clock.plan(RETRY_MS, () => this.#ask(workflow)));
    this.#clock.plan(ANSWER_WITHIN_MS, again);
    this.#submit(workflow).then((run) => (run === null ? again() : once(() => this.#answered(workflow, run))), again);
  }

  /** @returns the run; null: there is no server */
  async #submit({ key, graph, timeoutMs }: PlannedWorkflow): Promise<string | null> {
    const server = this.#server();
    const submitter = server?.workflows ?? null;
    if (submitter === null) return null;
    const { nodes, works } = graph;
    const createdAt = Math.floor(EPOCH_MS + this.#clock.nowMs);
    const payloads = new Map(works.map((work, number) => [number, Buffer.from(JSON.stringify(work))]));
    const workflow = newWorkflow({
      definition: definitionOf(createdAt),
      jobId: submitter.newId(),
      graph: compiled(graph),
      nodes,
      payloads,
      deadline: createdAt + timeoutMs,
      createdAt,
      orderingOf: () => DEFAULT_ORDERING,
    });
    this.known.set(workflow.jobId, graph);
    return runOf(await submitter.take(workflow, { tenant: "default", key, requestHash: key }));
  }

  #answered({ key, cancelAfterMs, pauses, graph }: PlannedWorkflow, executionId: string): void {
    this.#open--;
    this.#history.add({ kind: "ACCEPTED", key, executionId, deduplicated: false });
    if (cancelAfterMs !== null) this.#clock.plan(cancelAfterMs, () => void this.#cancel(executionId));
    this.#acts.begin(executionId, pauses, graph.works);
  }

  async #cancel(executionId: string): Promise<void> {
    const server = this.#server();
    const view = await server?.store?.queries.getExecution("default", executionId).catch(() => null);
    if (!view) return;
    this.#history.add({ kind: "CANCEL_ASKED", executionId });
    await server?.cancel(executionId, view.shard).catch(() => undefined);
  }
}

function definitionOf(createdAt: number): Parameters<typeof newWorkflow>[0]["definition"] {
  return {
    ...{ name: null, pool: "default", handler: "workflow", requires: [], priority: 5, scheduledAt: createdAt },
    ...{ recurrence: null, concurrencyKey: null, concurrencyLimit: 1, uniqueKey: null, labels: {} },
    policy: {
      retry: { maxAttempts: 1, backoff: "FIXED", initialDelayMs: 0, maxDelayMs: 0, jitter: false },
      timeoutMs: 3_600_000,
      cancelGraceMs: 0,
      maxLost: 1,
      onWorkerLost: "RETRY",
      startBefore: null,
    },
  };
}
