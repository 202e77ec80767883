import type { StoreEvent } from "@mainspring/server/testing";
import type { MapAccount } from "./map-account.ts";

/** End of an item of a map in the shard of its key, with the run of the map. */
interface UntoldEnd {
  run: string;
  id: string;
}

/**
 * Ends of items that the owners of the runs do not know yet, by the command that tells of them. An owner goes on with a map
 * until it knows of an end.
 */
export class UntoldEnds {
  readonly #ends = new Map<string, UntoldEnd>();
  readonly #mapsOf: (run: string) => MapAccount | undefined;

  /** @param mapsOf maps of a run; undefined: the run is not known */
  constructor(mapsOf: (run: string) => MapAccount | undefined) {
    this.#mapsOf = mapsOf;
  }

  clear(): void {
    this.#ends.clear();
  }

  committed(event: Extract<StoreEvent, { kind: "COMMITTED" }>): void {
    const { asked, applied } = event;
    for (const done of asked.commandsDone) {
      const end = this.#ends.get(done);
      if (end !== undefined) this.#mapsOf(end.run)?.told(end.id, event);
      this.#ends.delete(done);
    }
    const ended = new Set(applied.flatMap(({ after }) => (after.item === null ? [] : [after.id])));
    for (const { run, command } of asked.commands) {
      if (command.kind !== "NODE_ENDED" || !ended.has(command.executionId)) continue;
      this.#ends.set(command.id, { run, id: command.executionId });
      this.#mapsOf(run)?.endedElsewhere(command.executionId);
    }
  }
}
