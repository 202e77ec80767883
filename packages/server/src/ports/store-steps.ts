import type { ExecutionId } from "../domain/ids.ts";
import type { RecordedStep } from "../domain/step.ts";

/** Records of handlers. `Store.commit` writes them. */
export interface StoreSteps {
  /**
   * All records of these executions, in the order in which they were made. Executions without a record are left out.
   * @param ids at most 1_000
   */
  read(ids: readonly ExecutionId[]): Promise<Map<ExecutionId, RecordedStep[]>>;
}
