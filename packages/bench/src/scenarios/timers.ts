import { nowMs } from "../clock.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import type { Case, Scenario } from "./scenario.ts";

export const timers: Scenario = {
  name: "timers",
  about:
    "Delayed jobs are submitted beforehand. The time counts from the instant when a job is due until the handler's start.",
  cases: ({ isQuick }) => [
    timersCase({ name: "timers-spread", jobs: isQuick ? 200 : 2_000, overMs: isQuick ? 2_000 : 20_000 }),
    timersCase({ name: "timers-2k", jobs: 2_000, overMs: 0 }),
    ...(isQuick ? [] : [timersCase({ name: "timers-10k", jobs: 10_000, overMs: 0 })]),
  ],
};

/** Time before the first job is due, in milliseconds, in which all jobs must be submitted and read ahead. */
const LEAD_MS = 4_000;

interface TimersLoad {
  jobs: number;
  /** Range of the due times, in milliseconds; 0: all at one instant. */
  overMs: number;
}

/** Warm-up in addition to that of every case. */
const WARM_UP: TimersLoad = { jobs: 500, overMs: 1_000 };
const WARM_UP_LEAD_MS = 1_500;

function timersCase({ name, jobs, overMs }: TimersLoad & { name: string }): Case {
  const when = overMs === 0 ? "due at one instant" : `over ${overMs / 1_000} s`;
  return {
    name,
    title: `${jobs.toLocaleString("en")} timers ${when}`,
    runsMax: 2,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage);
      await fire(course, WARM_UP, WARM_UP_LEAD_MS);
      return await fire(course, { jobs, overMs });
    },
  };
}

/** Measures timers; the course's worker is started. */
export async function fire(course: Course, { jobs, overMs }: TimersLoad, leadMs = LEAD_MS): Promise<Figures> {
  const { rig } = course;
  await rig.worker.expect(jobs);
  const meter = await Meter.begin(rig);
  const beginAtMs = Math.ceil(nowMs()) + leadMs;
  const dueAtMs = (n: number) => beginAtMs + Math.round((overMs * n) / jobs);
  await prefill(rig, jobs, (n) => ({ n, runAtMs: dueAtMs(n) }));
  if (nowMs() > beginAtMs) throw new Error(`${jobs} timers could not be submitted within ${leadMs} ms`);
  await course.finished(jobs, { meter });
  const costs = await meter.perJob(jobs);
  const { startedAtMs } = await course.verified(jobs);
  return { ...latenessOf(startedAtMs.map((atMs, n) => atMs - dueAtMs(n))), ...costs };
}
