import { type Figures, prefixed } from "../figures.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { pickUp } from "./pickup.ts";
import type { Case, Scenario } from "./scenario.ts";
import { fire } from "./timers.ts";

export const backlog: Scenario = {
  name: "backlog",
  about:
    "First comes a drain, then jobs that wait for tomorrow, and fresh statistics at the worst moment (`VACUUM (ANALYZE)` when nothing is ready). Then the same drain, pickup and timers run again. The ratio is the second drain's rate to the first one's.",
  cases: ({ isQuick, backlogJobs }) => [
    backlogCase({
      waiting: backlogJobs,
      drained: isQuick ? 10_000 : 100_000,
      seconds: isQuick ? 2 : 10,
    }),
  ],
};

interface Sizes {
  waiting: number;
  drained: number;
  /** Duration of pickup and timers beside the backlog, in seconds. */
  seconds: number;
}

const A_DAY_MS = 86_400_000;

function backlogCase({ waiting, drained, seconds }: Sizes): Case {
  return {
    name: `backlog-${waiting / 1_000}k`,
    title: `with ${waiting.toLocaleString("en")} jobs waiting for tomorrow`,
    runsMax: 1,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { connections: 64 });
      const { rig } = course;
      const clean = await course.drain(drained);
      const tomorrowMs = Math.ceil(Date.now()) + A_DAY_MS;
      await prefill(rig, waiting, (n) => ({ n, runAtMs: tomorrowMs + n }));
      await rig.vacuum("FRESH");
      const burdened = await course.drain(drained);
      const picked = await pickUp(course, { perSec: 200, seconds });
      const fired = await fire(course, { jobs: seconds * 100, overMs: seconds * 1_000 });
      return {
        ratio: ratioOf(burdened, clean),
        ...burdened,
        ...prefixed("pickup", picked),
        ...prefixed("timers", fired),
      };
    },
  };
}

export function ratioOf(one: Figures, other: Figures): number {
  return (one.jobsPerSec ?? Number.NaN) / (other.jobsPerSec ?? Number.NaN);
}
