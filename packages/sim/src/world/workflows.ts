import { compileTemplates, DEFAULT_ORDERING, newWorkflow, runOf, Turns } from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { EPOCH_MS } from "../sim-process.ts";
import type { PlannedPart } from "./changes.ts";
import { Retries } from "./retries.ts";
import { RunActs, somePauses } from "./run-acts.ts";
import type { SimServer } from "./sim-server.ts";
import { waitsOf } from "./some-definition.ts";
import { compiled, type SomeGraph, someGraph, withReferences } from "./some-graph.ts";

/** One in this number of seeds has workflows. Other seeds stay unchanged. */
const WORKFLOWS_EVERY = 10;
/** The same for workflows with references, retries, pauses and signals, among the seeds that have workflows. */
const ACTS_EVERY = 20;
const ANSWER_WITHIN_MS = 5_000;
const RETRY_MS = 400;
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
  readonly #turns: Turns;
  #open = 0;
  #retries: Retries | null = null;
  /** Workflows by the id of their job, for the checkers. */
  readonly known = new Map<string, SomeGraph>();
  readonly #acts: RunActs;

  constructor(clock: VirtualClock, random: SeededRandom, history: History, server: () => SimServer | null) {
    this.#clock = clock;
    this.#random = random;
    this.#history = history;
    this.#server = server;
    this.#turns = new Turns({
      monotonicMs: () => clock.nowMs,
      setTimer: (delayMs, run) => ({ cancel: clock.plan(delayMs, run) }),
      defer: (run) => void clock.plan(0, run),
    });
    this.#acts = new RunActs(clock, server);
  }

  /** Number of submits and retries without an answer. */
  get open(): number {
    return this.#open + (this.#retries?.open ?? 0);
  }

  /**
   * Plans the workflows of the seed. In some seeds nodes refer to results, some handlers sleep or wait for signals, and runs
   * are paused and retried; their graphs are drawn alike.
   */
  plan(seed: number, count: number, withinMs: number, only: PlannedPart): void {
    if (seed % WORKFLOWS_EVERY !== WORKFLOWS_EVERY - 2) return;
    const hasActs = seed % ACTS_EVERY === ACTS_EVERY - 2;
    const references = this.#random.fork("references");
    if (hasActs) this.#retries = new Retries(this.#clock, this.#random.fork("retries"), this.#server);
    for (let number = 1; number <= count; number++) {
      const random = this.#random;
      const atMs = random.next() * withinMs;
      const key = `workflow-${number}`;
      const graph = someGraph(random, key);
      const workflow: PlannedWorkflow = {
        key,
        graph: hasActs ? withReferences(references, graph, key) : graph,
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
    const { nodes, works, references } = graph;
    const createdAt = Math.floor(EPOCH_MS + this.#clock.nowMs);
    const payloads = new Map(works.map((work, number) => [number, bytesOf(work)]));
    const whole = compiled(graph);
    const texts = { nodes, payloads, output: null, hasInput: true };
    const templates =
      references === undefined
        ? texts
        : await compileTemplates({ ...texts, output: bytesOf(references.output) }, whole, this.#turns);
    const workflow = newWorkflow({
      definition: definitionOf(createdAt),
      jobId: submitter.newId(),
      graph: whole,
      nodes,
      input: references === undefined ? null : bytesOf(references.input),
      payloads: templates.payloads,
      output: templates.output,
      deadline: createdAt + timeoutMs,
      createdAt,
      orderingOf: () => DEFAULT_ORDERING,
    });
    this.known.set(workflow.jobId, graph);
    return runOf(await submitter.take(workflow, { tenant: "default", key, requestHash: key }));
  }

  #answered({ key, graph, cancelAfterMs, pauses }: PlannedWorkflow, executionId: string): void {
    this.#open--;
    this.#retries?.plan(executionId, graph);
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

function bytesOf(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
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
