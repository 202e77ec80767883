import type { Epoch, ShardId } from "../domain/ids.ts";

/** One row of the assignment journal, as its owner counts it. */
export interface JournalBox {
  shard: ShardId;
  epoch: Epoch;
  seq: number;
  /** Executions whose own rows do not yet say what the journal row says. At zero it can go. */
  unsettled: number;
  /** It is on its way to the store or there. */
  sent: boolean;
}
