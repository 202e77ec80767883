import { LAG_MAX_MS } from "../../world/going-back.ts";
import { type Checker, Violation } from "../checker.ts";
import { addedRows } from "../recurring/ledger.ts";

/**
 * An accepted job is lost only where the store's server changes, only if the store added it within the lag of the new server, and never
 * if replicas confirm writes before their answers.
 * @param isConfirmed whether they do
 */
export function acceptedJobsStay(isConfirmed: boolean): Checker {
  /** Time at which the store added each execution. */
  const added = new Map<string, number>();
  const accepted = new Set<string>();
  /** Executions that the store has lost, with their age at the loss in ms. */
  const lost = new Map<string, number>();
  let isOver = false;
  const judge = (id: string) => {
    const ageMs = lost.get(id);
    if (isOver || ageMs === undefined || !accepted.has(id)) return;
    if (isConfirmed) throw new Violation(`${id} was accepted, and a change of the server lost it`);
    if (ageMs > LAG_MAX_MS) throw new Violation(`${id} was lost ${ageMs} ms after it was added`);
  };
  return {
    name: "accepted jobs stay",
    saw(event) {
      for (const { id } of addedRows(event)) {
        added.set(id, event.at);
        lost.delete(id);
      }
      if (event.kind === "FORGOTTEN") for (const { id } of event.rows) added.delete(id);
      if (event.kind !== "WENT_BACK") return;
      isOver ||= !event.hasGenerations;
      const there = new Set(event.rows.map(({ id }) => id));
      for (const [id, at] of added) {
        if (there.has(id)) continue;
        added.delete(id);
        lost.set(id, event.at - at);
        judge(id);
      }
    },
    noticed(event) {
      if (event.kind !== "ACCEPTED") return;
      accepted.add(event.executionId);
      judge(event.executionId);
    },
  };
}
