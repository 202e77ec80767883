import type { Entry } from "../entry.ts";
import { finishEntry } from "../rows.ts";
import type { Step } from "../state.ts";

/** The execution's job was deleted: what no worker has ends here. */
export function deleteWaiting(step: Step, entry: Entry): void {
  if (entry.place !== "ASSIGNED") finishEntry(step, entry, "CANCELLED", { reason: "JOB_DELETED" });
}
