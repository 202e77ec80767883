import type { ShardId } from "../../domain/ids.ts";
import type { KeyedRun } from "../../ports/store-runs.ts";
import type { Entry } from "../entry.ts";
import type { Gate } from "../queue/gates.ts";
import type { MachineState } from "../state.ts";

/** Places of concurrency keys that workflow runs hold: from the choice of the run until its end, in or out of memory. */

/** Place of a concurrency key that a run holds. */
export interface HeldKey {
  gate: Gate;
  shard: ShardId;
}

/** Takes a place of the run's concurrency key, if it has one and holds none yet. */
export function holdKey({ runs, gates, lanes }: MachineState, run: KeyedRun): void {
  const gate = runs.heldKeys.has(run.id) ? null : gates.of(run);
  if (gate === null) return;
  gate.running++;
  runs.heldKeys.set(run.id, { gate, shard: run.shard });
  lanes.refreshGate(gate);
}

/** Gives back the place that a run holds. */
export function freeKey({ runs, gates, lanes }: MachineState, run: string): void {
  const held = runs.heldKeys.get(run);
  if (held === undefined) return;
  runs.heldKeys.delete(run);
  held.gate.running--;
  lanes.refreshGate(held.gate);
  gates.prune(held.gate);
}

/** Forgets that a run is about to be opened. */
export function leaveOpening({ runs }: MachineState, entry: Entry): void {
  if (runs.openings.get(entry.id)?.wasReady && entry.lane !== null) entry.lane.assignedReady--;
  runs.openings.delete(entry.id);
}
