import { nowMs, pause } from "../clock.ts";
import { mainspring } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import type { Figures } from "../figures.ts";
import { cpuUsOf } from "../meter/process-cpu.ts";
import { residentMiBOf } from "../meter/process-memory.ts";
import type { Scenario } from "./scenario.ts";

const A_DAY_SEC = 86_400;
/** Time for the work of the submits to come to rest, in milliseconds. */
const REST_MS = 5_000;
/** Time for submits at this largest rate per second, and for looking ahead, in milliseconds. */
const LEAD_MS = 20_000;
const SUBMITTED_PER_SEC = 2_500;
const WRITTEN_WITHIN_MS = 300_000;

export const recurringRest: Scenario = {
  name: "recurring-rest",
  isOnRequest: true,
  about:
    "These recurring jobs fire tomorrow. The table shows how fast they are submitted. It then shows, with all of them in the store, the statements that reach the store each second, the server's CPU (in percent of one core) and its memory.",
  cases: ({ isQuick }) => {
    const jobs = isQuick ? 50_000 : 1_000_000;
    return [
      recurringCase(`recurring-rest-${jobs / 1_000}k`, `${jobs.toLocaleString("en")} recurring jobs at rest`, (rig) =>
        measureRest(rig, jobs, isQuick ? 5_000 : 30_000),
      ),
    ];
  },
};

export const recurringBurst: Scenario = {
  name: "recurring-herd",
  isOnRequest: true,
  about:
    "Recurring jobs fire at the same instant. The time counts from then until all of their executions are written and ready, each once. The table also shows the server's memory after that. There is no worker.",
  cases: ({ isQuick }) => {
    const jobs = isQuick ? 10_000 : 100_000;
    return [
      recurringCase(
        `recurring-herd-${jobs / 1_000}k`,
        `${jobs.toLocaleString("en")} recurring jobs that fire at one instant`,
        (rig) => measureBurst(rig, jobs),
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
  return {
    jobsPerSec,
    statementsPerSec: statements / (elapsedMs / 1_000),
    cpuPercent,
    residentMiB: residentMiBOf([pid]),
  };
}

async function measureBurst(rig: MainspringRig, jobs: number): Promise<Figures> {
  const [pid = 0] = rig.processes().server;
  const firesAtMs = Math.ceil((Date.now() + LEAD_MS + (jobs / SUBMITTED_PER_SEC) * 1_000) / 1_000) * 1_000;
  await submitAll(rig, jobs, firesAtMs);
  if (Date.now() > firesAtMs) throw new Error(`${jobs} recurring jobs could not be submitted before they fire`);
  await pause(firesAtMs - Date.now());
  const readyMs = (await rig.settledReady(jobs, WRITTEN_WITHIN_MS)) - firesAtMs;
  // A contender that fires twice does so soon.
  await pause(REST_MS);
  const ready = await rig.countReady();
  if (ready !== jobs) throw new Error(`${jobs} recurring jobs fired once, and there are ${ready} executions`);
  return { readyMs, residentMiB: residentMiBOf([pid]) };
}

/** @param startAtMs first instant, in milliseconds since 1970; the next one is a day later */
async function submitAll(rig: MainspringRig, jobs: number, startAtMs: number): Promise<void> {
  await rig.submitRecurring(jobs, { everySec: A_DAY_SEC, startAt: new Date(startAtMs).toISOString() });
}
