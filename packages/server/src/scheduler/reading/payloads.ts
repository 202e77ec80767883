import { create, toBinary } from "@bufbuild/protobuf";
import { RecordedStepsSchema, StepKind } from "@mainspring/proto";
import type { Candidate } from "../../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import { type RecordedStep, type Signal, waitOf } from "../../domain/step.ts";
import type { Unsendable } from "../../engine/inputs.ts";
import type { Assignment } from "../../ports/messages.ts";
import { isTemplate } from "../../ports/references/template.ts";
import type { Store } from "../../ports/store.ts";
import type { References, Referring } from "./references.ts";

/**
 * Bytes and number of payloads in one of the two generations of payloads kept for executions that were just submitted.
 */
const GENERATION_BYTES_MAX = 32 * 1024 * 1024;
const GENERATION_MAX = 50_000;

const NO_BYTES = new Uint8Array(0);

/** Fields that a `HintedRow` and an `Assignment` share. */
interface Hinted {
  row: Pick<Candidate, "id" | "dueAt" | "attempt">;
  payload: Uint8Array | null;
}
type Assigned = Pick<Assignment, "executionId" | "attempt" | "payload" | "payloadBytes" | "steps">;

/** Facts about assignments that the assignments do not have. */
interface About<A> {
  /** Time at which an assignment leaves, from which its waits count. */
  sentAt(assign: A): EpochMs;
  /** Node of a workflow that the assignment runs; null: it runs none. */
  nodeOf(assign: A): OfRun | null;
}

/** Run of a node, and the item of a map; null: the node is no map. */
type OfRun = Pick<Referring, "run" | "item">;

/** Parts of assignments that are not available. */
interface Incomplete {
  missing: readonly ExecutionId[];
  runs: ReadonlyMap<ExecutionId, OfRun>;
  isStepping: boolean;
}

/** An assignment that cannot be sent, and why. */
export interface Held<A> extends Pick<Unsendable, "reason" | "error"> {
  assign: A;
}

/**
 * Payloads of assignments, records of earlier attempts, and signals. References in payloads of nodes are replaced. Payloads that came with a hint are available for the first
 * attempt; the others are read when they are needed. A later attempt may run another version of the job, with another
 * payload.
 */
export class Payloads {
  readonly #store: Pick<Store, "payloads" | "steps">;
  readonly #references: Pick<References, "resolve">;
  /**
   * Two generations of payloads: the newest, and those before, which are dropped as a whole. Payloads of executions
   * that their lane rejected, or that were cancelled, may never be asked for. Dropping single payloads by age would be
   * slow, because finding the oldest key of a Map takes longer the more old keys were deleted.
   */
  #young = new Map<ExecutionId, Uint8Array>();
  #old = new Map<ExecutionId, Uint8Array>();
  #youngBytes = 0;

  constructor(store: Pick<Store, "payloads" | "steps">, references: Pick<References, "resolve">) {
    this.#store = store;
    this.#references = references;
  }

  /** @param dueUntil latest due time; later executions stay in the store, with their payloads */
  keep(rows: readonly Hinted[], dueUntil: EpochMs): void {
    for (const { row, payload } of rows) {
      if (payload === null || row.dueAt > dueUntil || row.attempt > 0) continue;
      if (this.#young.size >= GENERATION_MAX || this.#youngBytes >= GENERATION_BYTES_MAX) this.#age();
      // A repeated hint has the same payload, and checking for it would cost as much as setting it again.
      this.#young.set(row.id, payload);
      this.#youngBytes += payload.length;
    }
  }

  /**
   * Puts payloads, records and signals into the assignments.
   * @returns null: everything was available; else assignments that cannot be sent, whose references lead nowhere or too far
   */
  attach<A extends Assigned>(assigns: readonly A[], about: About<A>): Promise<Held<A>[]> | null {
    const missing: ExecutionId[] = [];
    /** Runs of nodes whose payloads may have references. */
    const runs = new Map<ExecutionId, OfRun>();
    let isStepping = false;
    for (const assign of assigns) {
      if (assign.steps === null) isStepping = true;
      if (assign.payloadBytes === 0) continue;
      if (assign.payload === null) {
        const kept = this.#take(assign.executionId);
        if (kept === undefined || assign.attempt > 1) missing.push(assign.executionId);
        else assign.payload = kept;
      }
      if (assign.payload !== null && !isTemplate(assign.payload)) continue;
      const run = about.nodeOf(assign);
      if (run !== null) runs.set(assign.executionId, run);
    }
    if (!isStepping && missing.length + runs.size === 0) return null;
    return this.#complete(assigns, { ...about, missing, runs, isStepping });
  }

  async #complete<A extends Assigned>(
    assigns: readonly A[],
    { missing, runs, isStepping, sentAt }: About<A> & Incomplete,
  ): Promise<Held<A>[]> {
    if (isStepping) await this.#readAll(assigns, missing, sentAt);
    else if (missing.length > 0) await this.#read(assigns, missing);
    return runs.size === 0 ? [] : await this.#fill(assigns, runs);
  }

  /** Replaces the references in payloads of nodes. */
  async #fill<A extends Assigned>(assigns: readonly A[], runs: ReadonlyMap<ExecutionId, OfRun>): Promise<Held<A>[]> {
    const wanted = assigns.flatMap((assign) => {
      const { executionId, payload: stored } = assign;
      const run = runs.get(executionId);
      return run !== undefined && stored !== null && isTemplate(stored) ? [{ assign, ...run, stored }] : [];
    });
    if (wanted.length === 0) return [];
    const held: Held<A>[] = [];
    for (const [i, filled] of (await this.#references.resolve(wanted)).entries()) {
      const { assign } = wanted[i] as (typeof wanted)[number];
      if (filled instanceof Uint8Array) assign.payload = filled;
      else held.push({ assign, ...filled });
    }
    return held;
  }

  async #readAll<A extends Assigned>(
    assigns: readonly A[],
    missing: readonly ExecutionId[],
    sentAt: (assign: A) => EpochMs,
  ): Promise<void> {
    const stepping = assigns.filter(({ steps }) => steps === null);
    const ids = stepping.map(({ executionId }) => executionId);
    const { steps } = this.#store;
    // The records come second: a signal of the first read that was consumed meanwhile is then among them.
    const signals = await steps.readSignals(ids);
    const recorded = await steps.read(ids);
    if (missing.length > 0) await this.#read(assigns, missing);
    for (const assign of stepping) {
      const { executionId: id } = assign;
      assign.steps = recordedBytes(recorded.get(id) ?? [], signals.get(id) ?? [], sentAt(assign));
    }
  }

  async #read(assigns: readonly Assigned[], missing: readonly ExecutionId[]): Promise<void> {
    const read = await this.#store.payloads(missing);
    for (const assign of assigns) assign.payload ??= read.get(assign.executionId) ?? null;
  }

  #age(): void {
    this.#old = this.#young;
    this.#young = new Map();
    this.#youngBytes = 0;
  }

  #take(id: ExecutionId): Uint8Array | undefined {
    const old = this.#old.get(id);
    if (old !== undefined) {
      this.#old.delete(id);
      return old;
    }
    const young = this.#young.get(id);
    if (young === undefined) return undefined;
    this.#youngBytes -= young.length;
    this.#young.delete(id);
    return young;
  }
}

/** Records and signals as bytes of the worker protocol. */
function recordedBytes(steps: readonly RecordedStep[], signals: readonly Signal[], at: EpochMs): Uint8Array {
  const items = [
    ...steps.map((step) => recordedItem(step, at)),
    ...signals.map(({ id, name, data }) => ({
      ...{ name, kind: StepKind.SIGNAL, data: data ?? NO_BYTES },
      signalId: id,
    })),
  ];
  return toBinary(RecordedStepsSchema, create(RecordedStepsSchema, { steps: items }));
}

function recordedItem(step: RecordedStep, at: EpochMs) {
  const { name, kind, data } = step;
  if (kind !== "WAIT") return { name, kind: StepKind[kind], data: data ?? NO_BYTES };
  return { name, kind: StepKind.WAIT, remainingMs: BigInt(waitOf(step).until - Math.floor(at)) };
}
