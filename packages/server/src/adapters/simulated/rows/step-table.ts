import type { ExecutionId } from "../../../domain/ids.ts";
import { type RecordedStep, replaces } from "../../../domain/step.ts";
import type { StepWrite } from "../../../ports/store.ts";
import { byText } from "../sorted-list.ts";

/** Records of handlers, by execution and name. See StoreSteps. */
export class StepTable {
  readonly #rows: Map<ExecutionId, Map<string, RecordedStep>>;

  constructor(rows: Iterable<[ExecutionId, Map<string, RecordedStep>]> = []) {
    this.#rows = new Map(Array.from(rows, ([id, records]) => [id, new Map(records)]));
  }

  copy(): StepTable {
    return new StepTable(this.#rows);
  }

  /** @returns whether the record counts */
  write(write: StepWrite): boolean {
    const { executionId, signalId: _, ...record } = write;
    const records = this.#rows.get(executionId) ?? new Map<string, RecordedStep>();
    this.#rows.set(executionId, records);
    const known = records.get(record.name);
    if (known !== undefined && !replaces(record, known)) return false;
    records.set(record.name, record);
    return true;
  }

  of(id: ExecutionId): RecordedStep[] {
    const records = [...(this.#rows.get(id)?.values() ?? [])];
    return records.sort((a, b) => a.attempt - b.attempt || a.number - b.number || byText(a.name, b.name));
  }

  forget(id: ExecutionId): void {
    this.#rows.delete(id);
  }
}
