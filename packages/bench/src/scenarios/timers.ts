import { nowMs } from "../clock.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import { WARM_UP_JOBS } from "./drain.ts";
import type { Case, Scenario } from "./scenario.ts";

export const timers: Scenario = {
  name: "timers",
  about: "Jobs for later, submitted beforehand: from the instant when they are due until the handler's start.",
  cases: ({ isQuick }) => [
    timersCase({ name: "timers-spread", jobs: isQuick ? 300 : 2_000, overMs: isQuick ? 3_000 : 20_000 }),
    timersCase({ name: "timers-2k", jobs: 2_000, overMs: 0 }),
    ...(isQuick ? [] : [timersCase({ name: "timers-10k", jobs: 10_000, overMs: 0 })]),
  ],
};

/** All must be submitted, and whatever looks ahead have looked, before the first is due. */
const LEAD_MS = 4_000;

interface TimersLoad {
  jobs: number;
  /** 0: all at one instant. */
  overMs: number;
}

function timersCase({ name, jobs, overMs }: TimersLoad & { name: string }): Case {
  const when = overMs === 0 ? "due at one instant" : `over ${overMs / 1_000} s`;
  return {
    name,
    title: `${jobs.toLocaleString("en")} timers ${when}`,
    runsMax: 2,
    measure: async (contender, stage) => {
      await using rig = await contender.open(stage);
      const course = new Course(rig);
      await course.warmUp(WARM_UP_JOBS);
      await rig.worker.start();
      return await fire(course, { jobs, overMs });
    },
  };
}

/** Its worker is started. */
export async function fire(course: Course, { jobs, overMs }: TimersLoad): Promise<Figures> {
  const { rig } = course;
  await rig.worker.expect(jobs);
  const meter = await Meter.begin(rig);
  const beginAtMs = Math.ceil(nowMs()) + LEAD_MS;
  const dueAtMs = (n: number) => beginAtMs + Math.round((overMs * n) / jobs);
  await prefill(rig, jobs, (n) => ({ n, runAtMs: dueAtMs(n) }));
  if (nowMs() > beginAtMs) throw new Error(`${jobs} timers could not be submitted within ${LEAD_MS} ms`);
  await rig.worker.reached(jobs);
  await course.settled(jobs);
  const costs = await meter.perJob(jobs);
  const { startedAtMs } = await course.verified(jobs);
  return { ...latenessOf(startedAtMs.map((atMs, n) => atMs - dueAtMs(n))), ...costs };
}
