import type { Epoch, ShardId } from "../domain/ids.ts";

/** The owner's record of one row of the assignment journal. */
export interface JournalBox {
  shard: ShardId;
  epoch: Epoch;
  seq: number;
  /**
   * Number of executions whose own rows do not yet record the assignment of the journal row. At zero the row can be
   * deleted.
   */
  unsettled: number;
  /** Whether the row is in the store or on its way there. */
  sent: boolean;
}
