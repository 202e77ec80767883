import type { Client, ExecutionState } from "@mainspring/sdk";
import { sleep, until, wallClockZeroMs } from "./clock.ts";
import type { ClientEvent, FaultEvent, WorkerEvent } from "./history/events.ts";
import { readHistory } from "./history/history-file.ts";
import type { Evidence } from "./judge/evidence.ts";
import type { RecurringLoad } from "./load/recurring/recurring-load.ts";
import { countActiveJobs, isEmpty, listAll, readAll } from "./read-executions.ts";
import type { Playground } from "./stage/playground.ts";

/** Generous: what is not done by then is stuck, however slow the machine. */
const ANSWERED_WITHIN_MS = 120_000;
const DRAINED_WITHIN_MS = 180_000;
const LEFT_WITHIN_MS = 90_000;
const LIVING: readonly ExecutionState[] = ["PENDING", "SCHEDULED", "RUNNING"];
/** Several sweeps of whatever the server does once in a while, each of which could still spoil something. */
const CALM_MS = 5_000;
/** Server and clients read clocks of one machine, but a server may lag behind by what its store took to tell the time. */
const CLOCKS_DIFFER_MS = 100;

/**
 * Lets everything come to rest after the faults.
 * @param recurring null: no job recurred
 * @returns all that is then known
 */
export async function settle(
  stage: Playground,
  demanded: Evidence["demanded"],
  recurring: RecurringLoad | null,
): Promise<Evidence> {
  const { clients, workers, client, servers, say } = stage;
  const toleranceMs = CLOCKS_DIFFER_MS + Math.abs(wallClockZeroMs() - stage.wallClockZeroMs);
  await clients.dismiss(clients.members, ANSWERED_WITHIN_MS, (child) => child.nudge());
  await recurring?.stop();
  say("all clients were answered");
  await drained(stage);
  say("all executions are final, or should be");
  await workers.dismiss(workers.members, LEFT_WITHIN_MS, (child) => child.signal("SIGTERM"));
  const executions = await readAll(client);
  const recurred = (await recurring?.read()) ?? [];
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
    recurring: recurred,
    demanded,
    unaskedDeaths: [...clients.deaths, ...workers.deaths, ...servers.flatMap(({ deaths }) => deaths)],
    wallClockZeroMs: stage.wallClockZeroMs,
    toleranceMs,
  };
}

/** The judge names executions that are not final in time. */
async function drained({ client }: Playground): Promise<void> {
  await until("all executions are final", DRAINED_WITHIN_MS, () => isDrained(client).catch(() => null), 500).catch(
    () => undefined,
  );
}

async function isDrained(client: Client): Promise<true | null> {
  for (const state of LIVING) if (!(await isEmpty(client, state))) return null;
  // Asked one state after the other, an execution may have gone from one to another.
  const all = await listAll(client);
  return all.some(({ state }) => LIVING.includes(state)) ? null : true;
}
