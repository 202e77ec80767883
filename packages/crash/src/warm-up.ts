import { until } from "./clock.ts";
import type { People } from "./faults/world.ts";
import type { WorkerEvent } from "./history/events.ts";
import { readHistory } from "./history/history-file.ts";

const WARM_WITHIN_MS = 180_000;
/** Handlers that have ended: then clients, server, store and workers all do their work. */
const ENOUGH = 50;

/** Fills the stage. @returns when jobs come and go */
export async function warmUp({ workers, clients }: People): Promise<void> {
  for (let hired = 0; hired < 3; hired++) workers.hire();
  for (let hired = 0; hired < 2; hired++) clients.hire();
  await until("jobs are run", WARM_WITHIN_MS, () => {
    const events = workers.historyFiles.flatMap((file) => [...readHistory<WorkerEvent>(file)]);
    return events.filter(({ event }) => event === "ENDED").length >= ENOUGH ? true : null;
  });
}
