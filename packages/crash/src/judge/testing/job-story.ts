import type { AttemptRecord, ExecutionState } from "@mainspring/sdk";
import { digestOf } from "../../history/digest.ts";
import type { ClientEvent, Expected, StepEvent, WorkerEvent } from "../../history/events.ts";
import type { NodeOfRun } from "../../history/workflow-events.ts";
import type { FinalExecution, FinalRun } from "../evidence.ts";

/** Receivers of a story's parts. */
export interface Ears {
  client(event: ClientEvent): void;
  worker(event: WorkerEvent): void;
  execution(execution: FinalExecution): void;
  workflow(run: FinalRun): void;
}

interface RunStory {
  attempt: number;
  pid?: number;
  from: number;
  /** End of the run; null: it never ended. */
  to: number | null;
  /** State of the attempt; default SUCCEEDED, with a result. */
  as?: AttemptRecord["state"];
  /** End of the attempt according to the server; default: the end of the run. */
  declaredAt?: number;
  returns?: string;
  /** Values that the handler got in place of references, by the node to which they refer; default: no references. */
  given?: Record<string, string>;
}

/** Line of a handler about its steps, without its execution. Each event names its attempt and its time. */
type Told<E> = E extends StepEvent ? Omit<E, "pid" | "executionId"> : never;

/** A job of a made-up run, or a node of a workflow. */
export class JobStory {
  readonly executionId: string;
  readonly #key: string;
  readonly #expected: Expected;
  readonly #ears: Ears;
  readonly #attempts: AttemptRecord[] = [];
  readonly #node: NodeOfRun | null;
  #last: FinalExecution | null = null;

  /** @param node node of a workflow that the handler runs; null: none */
  constructor(
    key: string,
    executionId: string,
    expected: Partial<Expected>,
    ears: Ears,
    node: NodeOfRun | null = null,
  ) {
    this.#node = node;
    this.#key = key;
    this.executionId = executionId;
    this.#ears = ears;
    this.#expected = { ...PLAIN, payloadSha: `payload of ${key}`, ...expected };
  }

  submitted(at: number): this {
    return this.intended(at).answered(at + 1);
  }

  intended(at: number): this {
    const [key, expected] = [this.#key, this.#expected];
    this.#ears.client({ event: "INTENDED", at, key, kind: "quick", idempotent: true, expected });
    return this;
  }

  answered(at: number): this {
    return this.#answer(at, this.executionId, false);
  }

  deduplicated(at: number, holder: JobStory): this {
    return this.intended(at).#answer(at, holder.executionId, true);
  }

  #answer(at: number, executionId: string, deduplicated: boolean): this {
    this.#ears.client({ event: "ANSWERED", at, key: this.#key, executionId, jobId: "job", deduplicated });
    return this;
  }

  cancelled({ at, answer }: { at: number; answer: "CANCELLED" | "REQUESTED" }): this {
    const { executionId } = this;
    this.#ears.client({ event: "CANCEL_ASKED", at, executionId });
    this.#ears.client({ event: "CANCEL_ANSWERED", at, executionId, answer });
    return this;
  }

  seenFinal(at: number, state: string): this {
    const { executionId } = this;
    this.#ears.client({ event: "SEEN_FINAL", at, executionId, state, resultSha: digestOf(null) });
    return this;
  }

  /** Adds a run by a worker that is recorded in the execution. */
  ran(run: RunStory): this {
    return this.recorded(run).ranUnseen(run);
  }

  /** Adds a run by a worker that the execution does not show. */
  ranUnseen({ attempt, pid = 1, from, to, as = "SUCCEEDED", declaredAt, returns, given }: RunStory): this {
    const { executionId } = this;
    const token = { pid, executionId, attempt, ...(this.#node && { node: this.#node }) };
    const returned = as === "SUCCEEDED" || declaredAt !== undefined;
    const resultSha = returned ? (returns ?? resultOf(attempt)) : null;
    this.#ears.worker({ event: "STARTED", at: from, ...token, key: this.#key, ...(given && { given }) });
    if (to !== null) this.#ears.worker({ event: "ENDED", at: to, ...token, resultSha });
    return this;
  }

  /** Adds what handlers of the job wrote about their steps, in process 1. */
  told(...events: Told<StepEvent>[]): this {
    for (const event of events) this.#ears.worker({ pid: 1, executionId: this.executionId, ...event });
    return this;
  }

  /** Adds an effect with a value of its own, whose record is acknowledged at its end unless `isKnown` is false. */
  effect(step: string, { attempt, at, isKnown = true }: { attempt: number; at: number; isKnown?: boolean }): this {
    const value = `${step} of attempt ${attempt}`;
    this.told(
      { event: "EFFECT_BEGAN", attempt, at, step },
      { event: "EFFECT_ENDED", attempt, at: at + 1, step, value },
    );
    return isKnown ? this.knew(step, value, { attempt, at: at + 2 }) : this;
  }

  /** Adds the result of a step as a handler got it. */
  knew(step: string, value: string | null, when: { attempt: number; at: number }): this {
    return this.told({ event: "STEP_KNOWN", ...when, step, value });
  }

  /** Adds a signal that a client sent, and that the server accepted 1 ms later. */
  signalled(value: string, at: number, isRepeated = false): this {
    const of = { executionId: this.executionId, name: "go", value };
    this.#ears.client({ event: "SIGNAL_ASKED", at, ...of });
    this.#ears.client({ event: "SIGNAL_ANSWERED", at: at + 1, ...of, isRepeated });
    return this;
  }

  /** Adds an attempt in the execution that no worker knows. */
  recorded({ attempt, from = 0, to = 0, as = "SUCCEEDED", declaredAt }: Partial<RunStory> & { attempt: number }): this {
    const finishedAt = new Date(declaredAt ?? to ?? 0).toISOString();
    const startedAt = new Date(from).toISOString();
    this.#attempts.push({ attempt, workerId: "worker", state: as, startedAt, finishedAt, error: null });
    return this;
  }

  ends(state: ExecutionState, resultSha?: string, finishedAt = 0): this {
    const attempts = this.#attempts;
    const attempt = attempts.at(-1)?.attempt ?? 0;
    const none = state === "SUCCEEDED" ? resultOf(attempt) : digestOf(null);
    this.#last = {
      ...BLANK,
      executionId: this.executionId,
      state,
      finishedAt: new Date(finishedAt).toISOString(),
      attempt,
      failures: attempts.filter((record) => record.state === "FAILED" || record.state === "TIMED_OUT").length,
      lost: attempts.filter((record) => record.state === "WORKER_LOST").length,
      attempts,
      key: this.#key,
      payloadSha: `payload of ${this.#key}`,
      resultSha: resultSha ?? none,
    };
    this.#ears.execution(this.#last);
    return this;
  }

  /** Digest of the result that the job ended with; null: it has not ended. */
  get resultSha(): string | null {
    return this.#last?.resultSha ?? null;
  }

  /** State that the job ended with; null: it has not ended. */
  get state(): ExecutionState | null {
    return this.#last?.state ?? null;
  }

  /** Sets other counts than those of its attempts. */
  counts(counts: { failures: number; lost: number }): void {
    if (this.#last !== null) Object.assign(this.#last, counts);
  }
}

const PLAIN: Omit<Expected, "payloadSha"> = {
  state: "SUCCEEDED",
  failures: { least: 0, most: 0 },
  maxAttempts: 5,
  maxLost: 50,
  concurrency: null,
  uniqueKey: null,
  delayMs: 0,
  expiresMs: null,
};

export const BLANK: Omit<FinalExecution, "executionId" | "key" | "payloadSha" | "resultSha" | "attempts"> = {
  jobId: "job",
  tenant: "default",
  trigger: "API",
  retryOf: null,
  jobVersion: 1,
  state: "PENDING",
  reason: null,
  attempt: 0,
  failures: 0,
  lost: 0,
  maxAttempts: 5,
  pool: "default",
  handler: "quick",
  priority: 5,
  scheduledAt: new Date(0).toISOString(),
  assignedWorker: null,
  startedAt: null,
  finishedAt: null,
  latenessMs: null,
  createdAt: new Date(0).toISOString(),
  updatedAt: new Date(0).toISOString(),
};

function resultOf(attempt: number): string {
  return `result of attempt ${attempt}`;
}
