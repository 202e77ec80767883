import { nowMs, pause } from "../clock.ts";
import { mainspringDefault } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import type { Figures } from "../figures.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import { cpuUsOf } from "../meter/process-cpu.ts";
import type { Case } from "./scenario.ts";

interface SleepersLoad {
  /** Number of executions that sleep. */
  sleepers: number;
  /** Time for which the system is observed while they sleep, in milliseconds. */
  restMs: number;
}

/** Folder of the SDK's steps, which releases without steps do not have. */
export const NEEDS_STEPS = "packages/sdk/src/steps";
const SLEEP_MS = 3_600_000;
/** Number of sleepers of the warm-up, at most. */
const WARM_UP_MAX = 2_000;
/** Time for earlier work to come to rest, in milliseconds. */
const SETTLE_MS = 3_000;

/** Handlers that sleep for an hour; a case of `steps`. */
export function sleepersCase({ sleepers, restMs }: SleepersLoad): Case {
  return {
    name: "steps-sleepers",
    title: `${sleepers.toLocaleString("en")} handlers that sleep for an hour`,
    needs: NEEDS_STEPS,
    runsMax: 1,
    contenders: [mainspringDefault],
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { hasTeller: true });
      const { rig } = course;
      if (!(rig instanceof MainspringRig)) throw new Error("only Mainspring has handlers that sleep");
      const warmUp = Math.min(WARM_UP_MAX, sleepers);
      await submitSleepers(rig, warmUp);
      await rig.settledAsleep(warmUp, async () => {});
      await verifyAsleep(rig, warmUp, 0);
      await pause(SETTLE_MS);
      const beforeMiB = await rig.usedMiB();
      const suspending = await fallAsleep(rig, sleepers, warmUp);
      await pause(SETTLE_MS);
      const growthMiB = (await rig.usedMiB()) - beforeMiB;
      const slotsInUse = await rig.usedSlots();
      const resting = await rest(rig, restMs);
      await verifyAsleep(rig, sleepers, warmUp);
      return { ...suspending, growthMiB, slotsInUse, ...resting };
    },
  };
}

/** Runs prefilled jobs until all of them sleep. @param before number of executions that sleep already */
async function fallAsleep(rig: MainspringRig, jobs: number, before: number): Promise<Figures> {
  await rig.hold();
  await submitSleepers(rig, jobs);
  const meter = await Meter.begin(rig);
  await rig.release();
  await rig.worker.reached(jobs);
  const endedAtMs = await rig.settledAsleep(before + jobs, () => meter.pause());
  const costs = await meter.perJob(jobs);
  const firstAtMs = await verifyAsleep(rig, jobs, before);
  return { suspensionsPerSec: jobs / ((endedAtMs - firstAtMs) / 1_000), ...costs };
}

async function submitSleepers(rig: MainspringRig, jobs: number): Promise<void> {
  await rig.worker.expect(jobs);
  await prefill(rig, jobs, (n) => ({ n, sleepMs: SLEEP_MS }));
}

/** @returns time of the first handler's start @throws a job did not start exactly once, or does not sleep */
async function verifyAsleep(rig: MainspringRig, jobs: number, before: number): Promise<number> {
  const { runs, distinct, firstAtMs } = await rig.worker.report();
  const asleep = (await rig.countAsleep()) - before;
  if (runs !== jobs || distinct !== jobs || asleep !== jobs) {
    throw new Error(`${jobs} jobs were to sleep: ${runs} runs of ${distinct} jobs, ${asleep} sleep`);
  }
  return firstAtMs;
}

/** Observes the servers while nothing happens. */
async function rest(rig: MainspringRig, lastsMs: number): Promise<Figures> {
  const { server } = rig.processes();
  const cpuUs = () => server.reduce((sum, pid) => sum + cpuUsOf(pid), 0);
  const [beginMs, beginUs] = [nowMs(), cpuUs()];
  const statements = await rig.statementsDuring?.(() => pause(lastsMs));
  const elapsedMs = nowMs() - beginMs;
  const cpuPercent = (cpuUs() - beginUs) / elapsedMs / 10;
  return { cpuPercent, ...(statements !== undefined && { statementsPerSec: statements / (elapsedMs / 1_000) }) };
}
