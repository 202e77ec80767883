import {
  type AcceptedJob,
  compensationOf,
  compileTemplates,
  DEFAULT_ORDERING,
  type GraphParts,
  jobDefinition,
  newWorkflow,
  Turns,
  type WorkflowIntake,
} from "@mainspring/server/testing";
import type { SeededRandom, VirtualClock } from "@mainspring/testkit/time";
import type { History } from "../history.ts";
import { EPOCH_MS } from "../sim-process.ts";
import type { PlannedPart } from "./changes.ts";
import { Retries } from "./retries.ts";
import { RunActs, somePauses } from "./run-acts.ts";
import { someOnFinish } from "./sim-receiver.ts";
import type { SimServer } from "./sim-server.ts";
import { waitsOf } from "./some-definition.ts";
import { compiled, type SomeGraph, someGraph, withCompensations, withReferences } from "./some-graph.ts";
import { withSomeMaps } from "./some-maps.ts";
import { withSomeSpawns } from "./some-spawns.ts";
import { withSubWorkflows } from "./some-sub-workflows.ts";
import { TENANT } from "./tenant.ts";
import { workflowKindsOf } from "./workflow-kinds.ts";

const ANSWER_WITHIN_MS = 5_000;
const RETRY_MS = 400;
/** Longest sleep of a node's handler, in milliseconds. */
const WAIT_MAX_MS = 120_000;

type JobFields = Parameters<typeof jobDefinition>[0];
/** When a workflow starts, in the API's form. */
type Start = Omit<JobFields, "target">;

interface PlannedWorkflow {
  key: string;
  graph: SomeGraph;
  start: Start;
  /** Called with the ids of the accepted workflow. @param run null: it recurs */
  answered(jobId: string, run: string | null): void;
}

/** Acts of clients on a run, from its submit on. */
interface Acts {
  key: string;
  graph: SomeGraph;
  cancelAfterMs: number | null;
  pauses: ReturnType<typeof somePauses>;
}

const ACTIONS = ["PAUSE", "RESUME", "RESUME_AND_CATCH_UP", "TRIGGER", "BACKFILL", "DELETE"] as const;
/** Largest number of recurring workflows. */
const RECURRING_MAX = 4;

/**
 * Clients that submit workflows at random times, repeat a submit until it is answered, and cancel some runs. Other clients
 * have workflows that recur: they pause, resume, trigger, backfill and delete them.
 */
export class Workflows {
  readonly #clock: VirtualClock;
  readonly #random: SeededRandom;
  readonly #history: History;
  readonly #server: () => SimServer | null;
  readonly #turns: Turns;
  /** Random choice of the workflows that tell a receiver of their ends; null: none do. */
  onFinish: SeededRandom | null = null;
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

  /** The store was put back: runs that were final may be open and paused again. */
  storeWentBack(): void {
    this.#acts.lookAgain();
  }

  /**
   * Plans the workflows of the seed. In some seeds nodes refer to results, some handlers sleep or wait for signals, runs are
   * paused and retried, runs wait for a delay or a concurrency key, and workflows recur; the graphs are drawn alike.
   * @param plansEndMs end of the plans of workflows that recur, in simulated milliseconds
   */
  plan(seed: number, count: number, withinMs: number, plansEndMs: number, only: PlannedPart): void {
    const kinds = workflowKindsOf(seed);
    if (kinds === null) return;
    const { hasActs, hasKeyedNodes, hasCompensations, hasMaps, hasSubWorkflows, hasSpawns, isMixed } = kinds;
    const undoing = hasCompensations ? this.#random.fork("compensations") : null;
    const keys = hasKeyedNodes ? this.#random.fork("keys of nodes") : null;
    const isBasic = !hasActs && !hasKeyedNodes && !hasSubWorkflows;
    if (!isBasic) this.#retries = new Retries(this.#clock, this.#random.fork("retries"), this.#server, isMixed);
    const refers = !isBasic && !hasSubWorkflows;
    const references = this.#random.fork("references");
    const starts = this.#random.fork("starts");
    if (hasActs) this.#planRecurring(count, withinMs, plansEndMs, only, undoing);
    for (let number = 1; number <= count; number++) {
      const random = this.#random;
      const atMs = random.next() * withinMs;
      const key = `workflow-${number}`;
      const drawn = someGraph(random, key);
      const referring = refers ? withReferences(references, drawn, key) : drawn;
      const undone = undoing === null ? referring : withCompensations(undoing, referring, key);
      const mapped = hasMaps ? withSomeMaps(this.#random.fork(`maps of ${key}`), undone) : undone;
      const nested = hasSubWorkflows ? withSubWorkflows(random.fork(`sub-workflows of ${key}`), mapped, key) : mapped;
      if (keys !== null) giveHandlersKeys(keys, nested, isMixed ? keyOfKind("node") : someKey);
      const graph = hasSpawns ? withSomeSpawns(this.#random.fork(`spawns of ${key}`), nested, key) : nested;
      const timeoutSec = random.chance(0.1) ? random.between(1, 60) : 7_200;
      const cancelAfterMs = random.chance(0.1) ? random.between(0, random.pick([50, 20_000])) : null;
      const start = { timeoutSec, ...(hasActs && someStart(starts, EPOCH_MS + atMs)) };
      const pauses = isBasic ? [] : somePauses(random.fork(`pauses of ${key}`));
      if (refers) {
        for (const [node, work] of graph.works.entries()) {
          const waits = waitsOf(random.fork(`waits of ${key} ${node}`), WAIT_MAX_MS);
          // A signal cannot name a map.
          if (graph.nodes[node]?.map === undefined) work.waits = waits;
        }
      }
      if (hasSubWorkflows) {
        const named = graph.nodes.filter((_, node) => graph.nested?.has(node));
        giveKeys(random.fork(`keys of ${key}`), named, isMixed ? keyOfKind("sub") : someKey);
      }
      const acts = { key, graph, cancelAfterMs, pauses };
      if (atMs > only.untilMs || !only.isWanted(number)) continue;
      this.#submitAt(atMs, { key, graph, start, answered: (_, run) => this.#answered(acts, run ?? "") });
    }
  }

  /** Plans recurring workflows, whose numbers follow those of the others. */
  #planRecurring(
    others: number,
    withinMs: number,
    endMs: number,
    only: PlannedPart,
    undoing: SeededRandom | null,
  ): void {
    const random = this.#random.fork("recurring");
    for (let number = random.between(1, RECURRING_MAX); number > 0; number--) {
      const key = `recurring-workflow-${number}`;
      const atMs = random.next() * 0.5 * withinMs;
      const drawn = someGraph(random, key);
      const graph = undoing === null ? drawn : withCompensations(undoing, drawn, key);
      const life = random.fork(key);
      const keyed = random.chance(0.3) ? someKey(random) : {};
      const start = { name: key, timeoutSec: random.between(20, 120), ...keyed, ...someTimes(random, endMs) };
      if (atMs > only.untilMs || !only.isWanted(others + number)) continue;
      this.#submitAt(atMs, { key, graph, start, answered: (jobId) => this.#live(key, jobId, life, withinMs) });
    }
  }

  #submitAt(atMs: number, planned: PlannedWorkflow): void {
    const told = this.onFinish === null ? {} : someOnFinish(this.onFinish);
    const workflow = { ...planned, start: { ...planned.start, ...told } };
    this.#open++;
    this.#clock.plan(atMs, () => this.#ask(workflow));
  }

  #ask(workflow: PlannedWorkflow): void {
    let isOver = false;
    const once = (then: () => void) => {
      if (!isOver) then();
      isOver = true;
    };
    const again = () => once(() => void this.#clock.plan(RETRY_MS, () => this.#ask(workflow)));
    this.#clock.plan(ANSWER_WITHIN_MS, again);
    const taken = (job: AcceptedJob) => {
      this.#open--;
      workflow.answered(job.jobId, job.executionId);
    };
    this.#submit(workflow).then((job) => (job === null ? again() : once(() => taken(job))), again);
  }

  /** @returns the accepted job; null: there is no server */
  async #submit({ key, graph, start }: PlannedWorkflow): Promise<AcceptedJob | null> {
    const server = this.#server();
    const submitter = server?.workflows ?? null;
    if (submitter === null) return null;
    const { references, compensatesOnCancel = false } = graph;
    const createdAt = Math.floor(EPOCH_MS + this.#clock.nowMs);
    const parts = await this.#partsOf(graph);
    const input = references === undefined ? null : bytesOf(references.input);
    const job = submitter.jobOf(TENANT, definitionOf(start, createdAt), input, DEFAULT_ORDERING, createdAt);
    if (job === null) throw new Error("every recurring workflow fires");
    const workflow = newWorkflow({ ...parts, job, compensatesOnCancel, orderingOf: () => DEFAULT_ORDERING });
    this.known.set(workflow.jobId, graph);
    const outcome = await submitter.take(workflow, { tenant: "default", key, requestHash: key });
    return outcome.kind === "ACCEPTED" ? (outcome.jobs[0] ?? null) : null;
  }

  /** Compiles a workflow, or one in a node. */
  async #partsOf(graph: SomeGraph): Promise<GraphParts> {
    const { nodes, works, references, undoing = [], nested = [] } = graph;
    const payloads = new Map(works.map((work, number) => [number, bytesOf(work)]));
    for (const [node, work] of undoing) payloads.set(compensationOf(node), bytesOf(work));
    const whole = compiled(graph);
    const texts = { nodes, payloads, output: null, hasInput: true };
    const { payloads: own, output } =
      references === undefined
        ? texts
        : await compileTemplates({ ...texts, output: bytesOf(references.output) }, whole, this.#turns);
    const inner = new Map<number, GraphParts>();
    for (const [node, sub] of nested) inner.set(node, await this.#partsOf(sub));
    return { graph: whole, nodes, payloads: own, output, compensatesOnCancel: false, nested: inner };
  }

  #live(key: string, jobId: string, random: SeededRandom, withinMs: number): void {
    this.#history.add({ kind: "PLAN_ACCEPTED", key, jobId });
    for (let left = random.between(0, 4); left > 0; left--) {
      const waitMs = random.next() * (withinMs - this.#clock.nowMs);
      const action = random.pick(ACTIONS);
      const limit = random.between(1, 3);
      this.#clock.plan(waitMs, () => {
        this.#history.add({ kind: "CHANGE_ASKED", jobId, change: action });
        // The action was refused, or its outcome is unknown.
        void this.#act(action, jobId, limit).catch(() => undefined);
      });
    }
  }

  async #act(action: (typeof ACTIONS)[number], jobId: string, limit: number): Promise<void> {
    const { changer, plans, runs } = this.#server() ?? {};
    if (action === "PAUSE") await plans?.pause(TENANT, jobId);
    else if (action === "TRIGGER") {
      const run = await runs?.trigger(TENANT, jobId);
      if (run) this.#history.add({ kind: "RETRY_ANSWERED", jobId, executionId: run.executionId });
    } else if (action === "DELETE") {
      const isOver = await changer?.delete(TENANT, jobId, false);
      if (isOver !== undefined) this.#history.add({ kind: "DELETE_ANSWERED", jobId, isOver });
    } else if (action === "BACKFILL") {
      const until = EPOCH_MS + Math.floor(this.#clock.nowMs);
      await plans?.backfill(TENANT, jobId, { since: until - 600_000, until, limit });
    } else await plans?.resume(TENANT, jobId, action === "RESUME_AND_CATCH_UP");
  }

  #answered({ key, graph, cancelAfterMs, pauses }: Acts, executionId: string): void {
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

/** Definition of a workflow's job. Its time for a run is the only part of its policy that counts. */
function definitionOf(start: Start, createdAt: number): Parameters<WorkflowIntake["jobOf"]>[1] {
  return jobDefinition({ ...start, target: { handler: "workflow" } }, createdAt);
}

function someStart(random: SeededRandom, atMs: number): Start {
  return {
    ...(random.chance(0.4) && { delayMs: random.between(1, random.pick([50, 5_000, 90_000])) }),
    ...(random.chance(0.6) && someKey(random)),
    ...(random.chance(0.1) && { startBefore: new Date(atMs + random.between(1, 120) * 1_000).toISOString() }),
  };
}

/** Gives some nodes of a graph and of its sub-workflows concurrency keys, except nodes that run sub-workflows. */
function giveHandlersKeys(random: SeededRandom, { nodes, nested = new Map() }: SomeGraph, keyOf: KeyOf): void {
  giveKeys(
    random,
    nodes.filter((_, node) => !nested.has(node)),
    keyOf,
  );
  for (const sub of nested.values()) giveHandlersKeys(random, sub, keyOf);
}

/** Gives some nodes and their compensations concurrency keys. */
function giveKeys(random: SeededRandom, nodes: SomeGraph["nodes"], keyOf: KeyOf): void {
  for (const work of nodes.flatMap((node) => (node.compensate === undefined ? [node] : [node, node.compensate]))) {
    if (!random.chance(0.5)) continue;
    const { concurrencyKey, concurrencyLimit } = keyOf(random);
    if (concurrencyKey !== undefined && concurrencyLimit !== undefined)
      Object.assign(work, { concurrencyKey, concurrencyLimit });
  }
}

type KeyOf = (random: SeededRandom) => Start;

/** Keys that only one kind of work has. A run that has the last place of a key must not wait for a node of its own with the key. */
function keyOfKind(kind: "node" | "sub"): KeyOf {
  return (random) => {
    const number = random.between(1, 4);
    return { concurrencyKey: `${kind}-${number}`, concurrencyLimit: 1 + (number % 2) };
  };
}

/** A concurrency key of workflows, or one that jobs have too. */
function someKey(random: SeededRandom): Start {
  if (random.chance(0.2)) return { concurrencyKey: `key-${random.between(1, 5)}`, concurrencyLimit: 2 };
  const number = random.between(1, 4);
  return { concurrencyKey: `flow-${number}`, concurrencyLimit: 1 + (number % 2) };
}

/** @param endMs end of all plans, in simulated milliseconds */
function someTimes(random: SeededRandom, endMs: number): Start {
  return {
    ...(random.chance(0.5)
      ? { everySec: random.between(40, 200), everyMode: random.pick(["FIXED_RATE", "FIXED_DELAY"] as const) }
      : { schedule: `*/${random.between(1, 4)} * * * *` }),
    endAt: new Date(EPOCH_MS + endMs).toISOString(),
    overlap: random.pick(["ALLOW", "SKIP", "BUFFER_ONE", "CANCEL_PREVIOUS"] as const),
    misfire: random.pick(["SKIP", "FIRE_ONCE", "FIRE_ALL"] as const),
    misfireGraceSec: random.pick([0, 2, 10, 60]),
    maxCatchUp: random.pick([1, 3]),
    ...(random.chance(0.2) && { startWithinSec: random.between(1, 20) }),
  };
}
