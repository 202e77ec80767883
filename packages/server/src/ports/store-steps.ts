import type { EpochMs, ExecutionId } from "../domain/ids.ts";
import type { RecordedStep, Signal } from "../domain/step.ts";
import type { SignalCommand } from "./store-commands.ts";

/** Records of handlers, which `Store.commit` writes, and signals to executions. */
export interface StoreSteps {
  /**
   * All records of these executions, in the order in which they were made. Executions without a record are left out.
   * @param ids at most 1_000; an id may occur more than once
   */
  read(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, RecordedStep[]>>;
  /**
   * Signals of these executions that no step has consumed, in the order in which they were accepted. Executions without
   * such a signal are left out.
   * @param ids at most 1_000; an id may occur more than once
   */
  readSignals(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, Signal[]>>;
  /**
   * Stores a signal and adds the command, in one transaction. A repeated signal changes nothing. If the command names a node
   * whose execution does not exist, the signal is stored as long as the run is not final.
   */
  addSignal(executionId: ExecutionId, signal: Signal, command: SignalCommand): Promise<SignalOutcome>;
}

/**
 * ACCEPTED: the signal and the command are durable. REPEATED: the execution has, or had, this signal. `at` is the time of
 * the acceptance, which grows from signal to signal of an execution. ID_REUSED: the id belongs to a signal with another name
 * or other data. TOO_MANY: too many signals, or bytes of signals, wait for a step. FINAL and UNKNOWN: the execution is
 * final, or there is none; without an execution, the run of the node counts.
 */
export type SignalOutcome =
  | { kind: "ACCEPTED" | "REPEATED"; at: EpochMs }
  | { kind: "ID_REUSED" | "TOO_MANY" | "FINAL" | "UNKNOWN" };
