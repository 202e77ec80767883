import { sleep, until, wallClockZeroMs } from "./clock.ts";
import type { ClientEvent, FaultEvent, WorkerEvent } from "./history/events.ts";
import { readHistory } from "./history/history-file.ts";
import type { Evidence } from "./judge/evidence.ts";
import { countActiveJobs, isEmpty, listAll, readAll } from "./read-executions.ts";
import type { Playground } from "./stage/stage.ts";

/** Generous: what is not done by then is stuck, however slow the machine. */
const ANSWERED_WITHIN_MS = 120_000;
const DRAINED_WITHIN_MS = 180_000;
const LEFT_WITHIN_MS = 90_000;
/** Several sweeps of whatever the server does once in a while, each of which could still spoil something. */
const CALM_MS = 5_000;
/** Server and clients read clocks of one machine, but a server may lag behind by what its store took to tell the time. */
const CLOCKS_DIFFER_MS = 100;

/** Lets everything come to rest after the faults. @returns all that is then known */
export async function settle(stage: Playground, demanded: Evidence["demanded"]): Promise<Evidence> {
  const { clients, workers, client, servers, say } = stage;
  const toleranceMs = CLOCKS_DIFFER_MS + Math.abs(wallClockZeroMs() - stage.wallClockZeroMs);
  await clients.dismiss(clients.members, ANSWERED_WITHIN_MS, (child) => child.nudge());
  say("all clients were answered");
  await drained(stage);
  say("all executions are final, or should be");
  await workers.dismiss(workers.members, LEFT_WITHIN_MS, (child) => child.signal("SIGTERM"));
  const executions = await readAll(client);
  await sleep(CALM_MS);
  const listedLater = await listAll(client);
  const activeJobs = await countActiveJobs(client);
  await Promise.all(servers.map((server) => server.stop()));
  return {
    clients: clients.historyFiles.flatMap((file) => readHistory<ClientEvent>(file)),
    workers: workers.historyFiles.flatMap((file) => readHistory<WorkerEvent>(file)),
    faults: readHistory<FaultEvent>(stage.faultFile),
    executions,
    listedLater,
    activeJobs,
    demanded,
    unaskedDeaths: [...clients.deaths, ...workers.deaths, ...servers.flatMap(({ deaths }) => deaths)],
    wallClockZeroMs: stage.wallClockZeroMs,
    toleranceMs,
  };
}

/** What is not final in time is for the judge to name. */
async function drained({ client }: Playground): Promise<void> {
  // The first once more: it may have gone round meanwhile.
  const states = ["PENDING", "SCHEDULED", "RUNNING", "PENDING"] as const;
  await until(
    "all executions are final",
    DRAINED_WITHIN_MS,
    async () => {
      for (const state of states) if (!(await isEmpty(client, state).catch(() => false))) return null;
      return true;
    },
    500,
  ).catch(() => undefined);
}
