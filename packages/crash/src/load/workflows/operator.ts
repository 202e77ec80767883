import type { MainspringError } from "@mainspring/sdk";
import { monotonicMs, sleep } from "../../clock.ts";
import type { Graph } from "../../history/workflow-events.ts";
import type { SubmitterParts } from "../submitters.ts";
import { untilAnswered } from "../until-answered.ts";
import type { Work } from "../work.ts";
import { mend } from "./mended.ts";
import { submitWorkflow } from "./submit-workflow.ts";
import { randomWorkflow, type WorkflowOrder } from "./workflow-order.ts";

const PAUSES = 0.5;
/** Duration of a pause, in milliseconds. */
const PAUSE_FOR_MS = { least: 1_000, most: 3_000 };
/** Work time of each node, in milliseconds: a node that runs when its run is paused ends within most pauses. */
const WORK_MS = { least: 500, most: 1_500 };
const LOOKS_EVERY_MS = 100;
/** Longest wait for the end of a run in one request, in seconds; after each, a run that is still paused is resumed again. */
const WAIT_SEC = 5;
const RETRIES_MAX = 2;
/** Share of DEAD runs that are retried, and of SUCCEEDED ones that are retried from one of their nodes. */
const RETRIES = { DEAD: 0.9, SUCCEEDED: 0.35 };
/** Share of retries of DEAD runs in which the doomed nodes succeed. */
const MENDED = 0.6;

/** A run whose end an operator waits for. */
interface OperatedRun {
  workflowId: string;
  graph: Graph;
}

/** Submits one workflow after the other, pauses and resumes some of the runs, and retries some of them. No fault ends it. */
export class Operator {
  readonly #parts: SubmitterParts;

  constructor(parts: SubmitterParts) {
    this.#parts = parts;
  }

  /** @returns promise that resolves when the operator was told to leave and its last run is final */
  async work(leaving: AbortSignal): Promise<void> {
    const { keyPrefix } = this.#parts;
    for (let count = 0; !leaving.aborted; count++) await this.#workflow(`operated-${keyPrefix}-${count}`, leaving);
  }

  async #workflow(key: string, leaving: AbortSignal): Promise<void> {
    const order = randomWorkflow(key, this.#parts.random);
    // Another run with the same unique key could be open when a run is to be retried.
    const { uniqueKey: _, ...rest } = order.request;
    // A backlog of other jobs must not hold up the run, or every pause would be over before its second node.
    const nodes = rest.nodes.map((node) => ({ ...node, payload: this.#slowly(node.payload as Work) }));
    const request = { ...rest, nodes, priority: "CRITICAL" } as const;
    const graph: Graph = { ...order.graph, uniqueKey: null };
    const workflowId = await submitWorkflow(this.#parts, { ...order, graph, request }, true);
    let run: OperatedRun | null = workflowId === null ? null : { workflowId, graph };
    for (let retries = 0; run !== null; retries++) {
      const state = await this.#end(run.workflowId, leaving);
      run = retries < RETRIES_MAX && !leaving.aborted ? await this.#retry(order, run, state, retries) : null;
    }
  }

  #slowly(payload: Work): Work {
    return { ...payload, workMs: this.#parts.random.between(WORK_MS.least, WORK_MS.most) };
  }

  /** Pauses the run perhaps. @returns final state of the run */
  async #end(workflowId: string, leaving: AbortSignal): Promise<string> {
    const { client, history, random } = this.#parts;
    if (random.chance(PAUSES) && !leaving.aborted) await this.#pause(workflowId, leaving);
    for (;;) {
      const { state, finishedAt, paused } = await untilAnswered(() =>
        client.workflows.get(workflowId, { waitSec: WAIT_SEC }),
      );
      if (finishedAt !== null) {
        history.write({ event: "WORKFLOW_SEEN_FINAL", at: monotonicMs(), workflowId, state });
        return state;
      }
      // A pause whose client had given up may arrive after the resume.
      if (paused) await this.#resume(workflowId);
    }
  }

  async #pause(workflowId: string, leaving: AbortSignal): Promise<void> {
    const { client, history, random } = this.#parts;
    const isAtWork = async () => {
      const { counts, finishedAt } = await untilAnswered(() => client.workflows.get(workflowId));
      return counts.RUNNING > 0 || finishedAt !== null;
    };
    while (!leaving.aborted && !(await isAtWork())) await sleep(LOOKS_EVERY_MS);
    if (!(await this.#isPaused(workflowId))) return;
    history.write({ event: "WORKFLOW_PAUSED", at: monotonicMs(), workflowId });
    await sleep(random.between(PAUSE_FOR_MS.least, PAUSE_FOR_MS.most));
    history.write({ event: "WORKFLOW_RESUME_ASKED", at: monotonicMs(), workflowId });
    await this.#resume(workflowId);
  }

  /** Pauses the run. @returns false: it had ended before */
  async #isPaused(workflowId: string): Promise<boolean> {
    const { client } = this.#parts;
    const answer = await untilAnswered(() => client.workflows.pause(workflowId)).catch(unlessFinal);
    if (answer !== "REQUESTED") return answer === "PAUSED";
    for (;;) {
      const { paused, finishedAt } = await untilAnswered(() => client.workflows.get(workflowId));
      if (paused || finishedAt !== null) return finishedAt === null;
      await sleep(LOOKS_EVERY_MS);
    }
  }

  async #resume(workflowId: string): Promise<void> {
    await untilAnswered(() => this.#parts.client.workflows.resume(workflowId)).catch(unlessFinal);
  }

  /** Retries a final run perhaps. @returns the retry; null: there is none */
  async #retry(
    { key: run, shape }: WorkflowOrder,
    { workflowId, graph: before }: OperatedRun,
    state: string,
    retries: number,
  ): Promise<OperatedRun | null> {
    const { client, history, folder, random } = this.#parts;
    const isDead = state === "DEAD";
    if (!random.chance(isDead ? RETRIES.DEAD : RETRIES.SUCCEEDED)) return null;
    const isMended = isDead && random.chance(MENDED);
    if (isMended) mend(folder, run);
    const nodes = isMended ? before.nodes.map((node) => ({ ...node, isDoomed: false })) : before.nodes;
    const graph: Graph = { ...before, nodes };
    const from = isDead ? [] : [random.pick(await this.#succeeded(workflowId))];
    const key = `${run}-retry-${retries}`;
    const intended = { key, shape, graph, idempotent: true, retryOf: { workflowId, run, from } };
    history.write({ event: "WORKFLOW_INTENDED", at: monotonicMs(), ...intended });
    try {
      const options = { idempotencyKey: key, ...(from.length > 0 && { from }) };
      const answer = await untilAnswered(() => client.workflows.retry(workflowId, options));
      const { workflowId: retry, executionIds } = answer;
      const told = { key, workflowId: retry, executionIds, deduplicated: false };
      history.write({ event: "WORKFLOW_ANSWERED", at: monotonicMs(), ...told });
      return { workflowId: retry, graph };
    } catch (error) {
      history.write({ event: "WORKFLOW_REFUSED", at: monotonicMs(), key, message: String((error as Error).message) });
      return null;
    }
  }

  async #succeeded(workflowId: string): Promise<string[]> {
    const { client } = this.#parts;
    return untilAnswered(async () => {
      const names: string[] = [];
      for await (const { name } of client.workflows.nodes(workflowId, { state: "SUCCEEDED" })) names.push(name);
      return names;
    });
  }
}

/** A run that is final, or about to end, can be neither paused nor resumed. */
function unlessFinal(error: MainspringError): null {
  if (error.code === "CONFLICT") return null;
  throw error;
}
