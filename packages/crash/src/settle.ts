import type { Client, ExecutionState } from "@mainspring/sdk";
import { sleep, until, wallClockZeroMs } from "./clock.ts";
import type { Testbed } from "./environment/testbed.ts";
import type { ClientEvent, FaultEvent, WorkerEvent } from "./history/events.ts";
import { readHistory } from "./history/history-file.ts";
import type { Evidence, FinalRequest } from "./judge/evidence.ts";
import type { RecurringLoad } from "./load/recurring/recurring-load.ts";
import {
  areRequestsDecided,
  countActiveJobs,
  isEmpty,
  listAll,
  readAll,
  readNodes,
  readRecords,
  readRequests,
  readRuns,
} from "./read-executions.ts";

/** Longest wait for answers, in milliseconds; a request that takes longer is stuck, however slow the machine. */
const ANSWERED_WITHIN_MS = 300_000;
const DRAINED_WITHIN_MS = 300_000;
/** Longest wait for the sinks of events, in milliseconds. A relay waits up to a minute after failures. */
const REPLICATED_WITHIN_MS = 180_000;
/** Longest wait for the topic of refused records, in milliseconds. A node looks for refusals of dead nodes every 30 s. */
const TOLD_WITHIN_MS = 120_000;
const LEFT_WITHIN_MS = 90_000;
const LIVING: readonly ExecutionState[] = ["PENDING", "SCHEDULED", "RUNNING"];
/**
 * Time without changes, in milliseconds: several of the server's periodic sweeps, each of which could still change
 * something.
 */
const CALM_MS = 5_000;
/**
 * Largest difference of clocks, in milliseconds. Server and clients read one machine's clock, but a server may lag by
 * the time that its store took to answer.
 */
const CLOCKS_DIFFER_MS = 100;

/**
 * Lets everything come to rest after the faults.
 * @param recurring recurring jobs; null: none
 * @returns all evidence
 */
export async function settle(
  environment: Testbed,
  demanded: Evidence["demanded"],
  recurring: RecurringLoad | null,
): Promise<Evidence> {
  const { clients, signallers, applications, workers, client, servers, say } = environment;
  const hasApplications = environment.hasApplications || applications.historyFiles.length > 0;
  const toleranceMs = CLOCKS_DIFFER_MS + Math.abs(wallClockZeroMs() - environment.wallClockZeroMs);
  const sources = [clients, signallers, applications];
  await Promise.all(sources.map((group) => group.dismiss(group.members, ANSWERED_WITHIN_MS, (child) => child.nudge())));
  await recurring?.stop();
  say("all clients were answered");
  if (hasApplications) {
    await until("all requests are decided", DRAINED_WITHIN_MS, () => areDecided(client)).catch(() => undefined);
  }
  const records = await decidedRecords(environment);
  await drained(environment);
  say("all executions are final, or should be");
  await workers.dismiss(workers.members, LEFT_WITHIN_MS, (child) => child.signal("SIGTERM"));
  const workflows = await readRuns(client);
  const executions = [...(await readAll(client)), ...(await readNodes(client, workflows))];
  const requests = hasApplications ? await readRequests(client) : null;
  const recurred = (await recurring?.read()) ?? [];
  await sleep(CALM_MS);
  const listedLater = [...(await listAll(client)), ...(await readNodes(client, workflows))];
  const activeJobs = await countActiveJobs(client);
  const endsInReplica = await replicated(environment, executions);
  await Promise.all(servers.map((server) => server.stop()));
  return {
    clients: submitterEvents(environment),
    workers: workers.historyFiles.flatMap((file) => readHistory<WorkerEvent>(file)),
    faults: readHistory<FaultEvent>(environment.faultFile),
    executions,
    listedLater,
    workflows,
    requests,
    records,
    endsInReplica,
    activeJobs,
    recurring: recurred,
    demanded,
    unaskedDeaths: [...sources, workers, ...servers].flatMap(({ deaths }) => deaths),
    wallClockZeroMs: environment.wallClockZeroMs,
    toleranceMs,
  };
}

function submitterEvents({ clients, signallers, applications }: Testbed): ClientEvent[] {
  const files = [clients, signallers, applications].flatMap(({ historyFiles }) => historyFiles);
  return files.flatMap((file) => readHistory<ClientEvent>(file));
}

/** Records that the servers accepted, once they are decided and refusals are told. The judge names those that are not in time. */
async function decidedRecords(environment: Testbed): Promise<Evidence["records"]> {
  const { client, ingest, say } = environment;
  if (ingest === null) return null;
  const positions = submitterEvents(environment).flatMap((event) =>
    event.event === "RECORD_ACCEPTED" ? [event.position] : [],
  );
  let shown: FinalRequest[] = [];
  const areDecided = async () => {
    shown = await readRecords(client, positions);
    return shown.some(({ state }) => state === "ACCEPTED") ? null : true;
  };
  await until("all records are decided", DRAINED_WITHIN_MS, () => areDecided().catch(() => null), 500).catch(
    () => null,
  );
  const refused = shown.flatMap(({ state, requestId }) => (state === "REFUSED" ? [requestId] : []));
  const told = await ingest.told(refused, TOLD_WITHIN_MS);
  say(`${shown.length} of ${positions.length} records are known, ${refused.length} of them refused`);
  return { mode: ingest.mode, shown, told };
}

/** Waits until no work is left. The judge names executions that are not final in time. */
async function drained({ client }: Testbed): Promise<void> {
  await until("all executions are final", DRAINED_WITHIN_MS, () => isDrained(client).catch(() => null), 500).catch(
    () => undefined,
  );
}

/** Ids of executions whose end is in the replica, once these are all of them. The judge names those that are missing. */
async function replicated(
  { endsInReplica, say }: Testbed,
  executions: Evidence["executions"],
): Promise<Evidence["endsInReplica"]> {
  if (endsInReplica === null) return null;
  let ends = new Set<string>();
  const hasAll = async () => {
    ends = await endsInReplica();
    return executions.every(({ executionId }) => ends.has(executionId)) || null;
  };
  await until("the replica has all ends", REPLICATED_WITHIN_MS, () => hasAll().catch(() => null), 500).catch(
    () => null,
  );
  say(`the replica has the ends of ${ends.size} executions`);
  return ends;
}

async function areDecided(client: Client): Promise<true | null> {
  return (await areRequestsDecided(client).catch(() => false)) ? true : null;
}

async function isDrained(client: Client): Promise<true | null> {
  for (const state of LIVING) if (!(await isEmpty(client, state))) return null;
  // Between two reads by state, an execution may have changed its state, so all are read again.
  const all = await listAll(client);
  return all.some(({ state }) => LIVING.includes(state)) ? null : true;
}
