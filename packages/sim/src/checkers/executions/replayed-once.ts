import { type Checker, Violation } from "../checker.ts";

/** A dead letter is settled once: replayed or retried by one execution, or discarded, however many clients ask. */
export function replayedOnce(): Checker {
  const settled = new Set<string>();
  return {
    name: "replayed once",
    saw(event) {
      if (event.kind === "RUN_RETRIED" && event.run.retryOf !== null) settled.add(event.run.retryOf);
      if (event.kind === "JOB_CHANGED" && event.row?.retryOf) settled.add(event.row.retryOf);
      if (event.kind !== "SETTLED") return;
      for (const { id, state } of event.letters) {
        if (state !== "DEAD") throw new Violation(`${id} is ${state} and was settled as a dead letter`);
        if (settled.has(id)) throw new Violation(`the dead letter ${id} was settled twice`);
        settled.add(id);
      }
      const replayed = event.rows.map(({ retryOf }) => retryOf);
      const asked = event.action === "REPLAY" ? event.letters.map(({ id }) => id) : [];
      if (JSON.stringify(replayed) !== JSON.stringify(asked)) {
        throw new Violation(`replays of ${replayed} were made where ${asked} were replayed`);
      }
    },
  };
}
