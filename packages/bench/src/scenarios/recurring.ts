import { nowMs, pause, until } from "../clock.ts";
import { mainspring } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import type { Figures } from "../figures.ts";
import { cpuUsOf, residentBytesOf } from "../meter/process-cpu.ts";
import type { Scenario } from "./scenario.ts";

const A_DAY_SEC = 86_400;
const BATCH = 5_000;
/** Time for work that the submits started to come to rest. */
const REST_MS = 5_000;
/** Time for submitting at most this many a second, and for looking ahead. */
const LEAD_MS = 20_000;
const SUBMITTED_PER_SEC = 2_500;
const WRITTEN_WITHIN_MS = 300_000;

export const recurringRest: Scenario = {
  name: "recurring-rest",
  isOnRequest: true,
  about:
    "Recurring jobs that fire tomorrow: how fast they are submitted; and when all are there, the statements that reach the store each second, the server's CPU (in percent of one core) and its memory.",
  cases: ({ isQuick }) => {
    const jobs = isQuick ? 50_000 : 1_000_000;
    return [
      recurringCase(`recurring-rest-${jobs / 1_000}k`, `${jobs.toLocaleString("en")} recurring jobs at rest`, (rig) =>
        measureRest(rig, jobs, isQuick ? 5_000 : 30_000),
      ),
    ];
  },
};

export const recurringHerd: Scenario = {
  name: "recurring-herd",
  isOnRequest: true,
  about:
    "Recurring jobs that fire at the same instant: from then until all of their executions are written and ready, each once; and the server's memory after that. There is no worker.",
  cases: ({ isQuick }) => {
    const jobs = isQuick ? 10_000 : 100_000;
    return [
      recurringCase(
        `recurring-herd-${jobs / 1_000}k`,
        `${jobs.toLocaleString("en")} recurring jobs that fire at one instant`,
        (rig) => measureHerd(rig, jobs),
      ),
    ];
  },
};

function recurringCase(name: string, title: string, measure: (rig: MainspringRig) => Promise<Figures>) {
  return {
    name,
    title,
    runsMax: 1,
    contenders: [mainspring],
    measure: async (...[contender, stage]: Parameters<ReturnType<Scenario["cases"]>[number]["measure"]>) => {
      const rig = await contender.open(stage);
      if (!(rig instanceof MainspringRig)) throw new Error("recurring jobs have a server");
      return await measure(rig).finally(() => rig[Symbol.asyncDispose]());
    },
  };
}

async function measureRest(rig: MainspringRig, jobs: number, lastsMs: number): Promise<Figures> {
  const beganMs = nowMs();
  await submitAll(rig, jobs, Date.now() + A_DAY_SEC * 1_000);
  const jobsPerSec = jobs / ((nowMs() - beganMs) / 1_000);
  await pause(REST_MS);
  const [pid = 0] = rig.processes().server;
  const [beginMs, beginUs] = [nowMs(), cpuUsOf(pid)];
  const wait = () => pause(lastsMs);
  const statements = (await rig.statementsDuring?.(wait)) ?? (await wait(), Number.NaN);
  const elapsedMs = nowMs() - beginMs;
  const cpuPercent = (cpuUsOf(pid) - beginUs) / elapsedMs / 10;
  return { jobsPerSec, statementsPerSec: statements / (elapsedMs / 1_000), cpuPercent, residentMiB: memoryOf(pid) };
}

async function measureHerd(rig: MainspringRig, jobs: number): Promise<Figures> {
  const [pid = 0] = rig.processes().server;
  const firesAtMs = Math.ceil((Date.now() + LEAD_MS + (jobs / SUBMITTED_PER_SEC) * 1_000) / 1_000) * 1_000;
  await submitAll(rig, jobs, firesAtMs);
  if (Date.now() > firesAtMs) throw new Error(`${jobs} recurring jobs could not be submitted before they fire`);
  await pause(firesAtMs - Date.now());
  await until(`${jobs} executions`, WRITTEN_WITHIN_MS, 100, async () =>
    (await rig.countReady()) >= jobs ? true : null,
  );
  const readyMs = Date.now() - firesAtMs;
  // A contender that fires twice does so soon.
  await pause(REST_MS);
  const ready = await rig.countReady();
  if (ready !== jobs) throw new Error(`${jobs} recurring jobs fired once, and there are ${ready} executions`);
  return { readyMs, residentMiB: memoryOf(pid) };
}

/** @param startAtMs since 1970: the first instant; the next is a day later */
async function submitAll(rig: MainspringRig, jobs: number, startAtMs: number): Promise<void> {
  const startAt = new Date(startAtMs).toISOString();
  for (let from = 0; from < jobs; from += BATCH) {
    const size = Math.min(BATCH, jobs - from);
    await rig.submitRecurring(size, { everySec: A_DAY_SEC, startAt });
  }
}

function memoryOf(pid: number): number {
  return residentBytesOf(pid) / 1_048_576;
}
