import type { ShardId } from "../../domain/ids.ts";
import type { RowChange } from "../../ports/store.ts";
import type { Batch } from "../batch.ts";
import type { MachineState } from "../state.ts";

/** A final change that the store refuses for its data, and why. */
export interface Refused {
  change: RowChange;
  shard: ShardId;
  message: string;
}

/**
 * The next batch writes an execution that the store refused as DEAD, with the reason. Until that is there, reads
 * still show the row as it was, and its worker is not told that its result is durable.
 */
export function bury(state: MachineState, answered: Batch, next: Batch, refused: readonly Refused[]): void {
  for (const { change, shard, message } of refused) {
    // Nobody who watches is told of what did not become true, and it is not counted.
    answered.shards.get(shard)?.changes.delete(change.id);
    next.write(shard, buried(change, message));
    state.touched.add(change.id, next.number);
  }
  answered.postpone(new Set(refused.map(({ change }) => change.id)), next);
}

function buried(change: RowChange, message: string): RowChange {
  return {
    ...change,
    state: "DEAD",
    reason: "RESULT_REFUSED",
    result: null,
    error: { name: "ResultRefused", message: `the store refused the result: ${message}`.slice(0, 1_000) },
    ended: change.ended.map((ended) => ({ ...ended, error: null })),
  };
}
