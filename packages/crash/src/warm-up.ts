import { until } from "./clock.ts";
import type { Users } from "./faults/world.ts";
import type { WorkerEvent } from "./history/events.ts";
import { readHistory } from "./history/history-file.ts";

const WARM_WITHIN_MS = 180_000;
/** Number of ended handlers after which clients, server, store and workers all work. */
const ENOUGH = 50;

/** Fills the environment. @returns promise that resolves when jobs come and go */
export async function warmUp({ workers, clients }: Users): Promise<void> {
  for (let hired = 0; hired < 3; hired++) workers.hire();
  for (let hired = 0; hired < 2; hired++) clients.hire();
  await until("jobs are run", WARM_WITHIN_MS, () => {
    const events = workers.historyFiles.flatMap((file) => [...readHistory<WorkerEvent>(file)]);
    return events.filter(({ event }) => event === "ENDED").length >= ENOUGH ? true : null;
  });
}
