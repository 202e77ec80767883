import type { ShardId } from "../../domain/ids.ts";
import type { RowChange } from "../../ports/store.ts";
import type { Batch } from "../batch.ts";
import { retellAsDead } from "../events.ts";
import { reload } from "../runs/advance.ts";
import type { MachineState } from "../state.ts";

/** A final change that the store refused because of its data, with the store's message. */
export interface Refused {
  change: RowChange;
  shard: ShardId;
  message: string;
}

/**
 * Makes the next batch write an execution whose final change the store refused as DEAD, with the reason. Until that
 * commit, reads still show the former row, and the worker is not told that its result is durable.
 */
export function deadLetterRefused(
  state: MachineState,
  answered: Batch,
  next: Batch,
  refused: readonly Refused[],
): void {
  for (const { change, shard, message } of refused) {
    // The refused change did not happen, so it is neither counted nor reported to watchers.
    answered.shards.get(shard)?.changes.delete(change.id);
    next.write(shard, asDeadLetter(change, message));
    retellAsDead(answered.shards.get(shard), next, shard, change.id);
    state.recentWrites.add(change.id, next.number);
    const run = answered.nodeEnds.get(change.id);
    if (run !== undefined) reload(state, next, run);
    for (const { run, command } of answered.shards.get(shard)?.commands.values() ?? []) {
      if (command.kind !== "NODE_ENDED" || command.executionId !== change.id) continue;
      next.addCommand(shard, { run, command: { ...command, state: "DEAD", branch: null } });
    }
  }
  answered.postpone(new Set(refused.map(({ change }) => change.id)), next);
}

function asDeadLetter({ spawn: _spawn, ...change }: RowChange, message: string): RowChange {
  return {
    ...change,
    state: "DEAD",
    reason: "RESULT_REFUSED",
    result: null,
    error: { name: "ResultRefused", message: `the store refused the result: ${message}`.slice(0, 1_000) },
    ended: change.ended.map((ended) => ({ ...ended, error: null })),
  };
}
