import { SIGNALS_OPEN_MAX, SIGNALS_OPEN_MAX_BYTES } from "@mainspring/contract/limits";
import type { ExecutionId, Incarnation } from "../../../domain/ids.ts";
import type { Signal } from "../../../domain/step.ts";
import type { SignalCommand } from "../../../ports/store-commands.ts";
import type { SignalOutcome } from "../../../ports/store-steps.ts";
import type { StoreData } from "../store-data.ts";
import { addCommand } from "./reads.ts";

/** A signal, with the name of the step that consumed it; null: none has. */
export interface SignalRow extends Signal {
  readonly takenBy: string | null;
  /** Run of the node to which the signal was sent by name; null: it was sent to an execution. */
  readonly run: ExecutionId | null;
}

/** Signals to executions, in the order in which they were accepted. */
export class SignalTable {
  readonly #rows: Map<ExecutionId, readonly SignalRow[]>;

  constructor(rows: Iterable<readonly [ExecutionId, readonly SignalRow[]]> = []) {
    this.#rows = new Map(rows);
  }

  copy(): SignalTable {
    return new SignalTable(this.#rows);
  }

  of(id: ExecutionId): readonly SignalRow[] {
    return this.#rows.get(id) ?? [];
  }

  /** Signals that no step has consumed. */
  openOf(id: ExecutionId): Signal[] {
    const open = this.of(id).filter(({ takenBy }) => takenBy === null);
    return open.map(({ id, name, data, at }) => ({ id, name, data, at }));
  }

  add(id: ExecutionId, signal: Signal, run: ExecutionId | null): void {
    this.#rows.set(id, [...this.of(id), { ...signal, takenBy: null, run }]);
  }

  /** Executions of nodes of the run with open signals that were sent to the nodes by name. */
  signalled(run: ExecutionId): ExecutionId[] {
    const isOpen = (row: SignalRow) => row.run === run && row.takenBy === null;
    return [...this.#rows].flatMap(([id, rows]) => (rows.some(isOpen) ? [id] : []));
  }

  take(executionId: ExecutionId, id: string, takenBy: string): void {
    const isTaken = (row: SignalRow) => row.id === id && row.takenBy === null;
    this.#rows.set(
      executionId,
      this.of(executionId).map((row) => (isTaken(row) ? { ...row, takenBy } : row)),
    );
  }

  /** Forgets the signals of an execution, and those of the nodes of a run. */
  forget(id: ExecutionId): void {
    this.#rows.delete(id);
    for (const [other, rows] of this.#rows) {
      const rest = rows.filter(({ run }) => run !== id);
      if (rest.length === 0) this.#rows.delete(other);
      else if (rest.length < rows.length) this.#rows.set(other, rest);
    }
  }
}

/** See StoreSteps.addSignal. */
export function addSignal(
  data: StoreData,
  by: Incarnation,
  executionId: ExecutionId,
  signal: Signal,
  command: SignalCommand,
): SignalOutcome {
  const run = command.ofNode?.run ?? null;
  const row = data.executions.get(executionId) ?? (run === null ? undefined : data.executions.get(run));
  if (row === undefined) return { kind: "UNKNOWN" };
  const known = data.signals.of(executionId).find(({ id }) => id === signal.id);
  if (known !== undefined) return isSame(known, signal) ? { kind: "REPEATED", at: known.at } : { kind: "ID_REUSED" };
  if (row.queue === "NONE") return { kind: "FINAL" };
  const open = data.signals.openOf(executionId);
  const bytes = [...open, signal].reduce((sum, one) => sum + (one.data?.length ?? 0), 0);
  if (open.length >= SIGNALS_OPEN_MAX || bytes > SIGNALS_OPEN_MAX_BYTES) return { kind: "TOO_MANY" };
  const at = Math.max(signal.at, (data.signals.of(executionId).at(-1)?.at ?? 0) + 1);
  data.signals.add(executionId, { ...signal, at }, run);
  data.tell({ kind: "SIGNALLED", at: data.now(), by, executionId, signal: { ...signal, at } });
  addCommand(data, by, command);
  return { kind: "ACCEPTED", at };
}

function isSame(a: Signal, b: Signal): boolean {
  if (a.name !== b.name || (a.data === null) !== (b.data === null)) return false;
  return Buffer.compare(a.data ?? new Uint8Array(), b.data ?? new Uint8Array()) === 0;
}
