import { create, toBinary } from "@bufbuild/protobuf";
import { RecordedStepsSchema, StepKind } from "@mainspring/proto";
import type { Candidate } from "../../domain/execution.ts";
import type { EpochMs, ExecutionId } from "../../domain/ids.ts";
import { type RecordedStep, type Signal, waitOf } from "../../domain/step.ts";
import type { Assignment } from "../../ports/messages.ts";
import type { Store } from "../../ports/store.ts";

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

/**
 * Payloads of assignments, records of earlier attempts, and signals. Payloads that came with a hint are available for the first
 * attempt; the others are read when they are needed. A later attempt may run another version of the job, with another
 * payload.
 */
export class Payloads {
  readonly #store: Pick<Store, "payloads" | "steps">;
  /**
   * Two generations of payloads: the newest, and those before, which are dropped as a whole. Payloads of executions
   * that their lane rejected, or that were cancelled, may never be asked for. Dropping single payloads by age would be
   * slow, because finding the oldest key of a Map takes longer the more old keys were deleted.
   */
  #young = new Map<ExecutionId, Uint8Array>();
  #old = new Map<ExecutionId, Uint8Array>();
  #youngBytes = 0;

  constructor(store: Pick<Store, "payloads" | "steps">) {
    this.#store = store;
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
   * @param sentAt time at which an assignment leaves, from which its waits count
   * @returns null: everything was available
   */
  attach<A extends Assigned>(assigns: readonly A[], sentAt: (assign: A) => EpochMs): Promise<void> | null {
    const missing: ExecutionId[] = [];
    let isStepping = false;
    for (const assign of assigns) {
      if (assign.steps === null) isStepping = true;
      if (assign.payloadBytes === 0 || assign.payload !== null) continue;
      const kept = this.#take(assign.executionId);
      if (kept === undefined || assign.attempt > 1) missing.push(assign.executionId);
      else assign.payload = kept;
    }
    if (isStepping) return this.#readAll(assigns, missing, sentAt);
    return missing.length === 0 ? null : this.#read(assigns, missing);
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
