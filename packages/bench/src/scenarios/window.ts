import { mainspring, mainspringWindow } from "../contenders/mainspring/mainspring.ts";
import { Course } from "../load/course.ts";
import type { Scenario } from "./scenario.ts";
import { fire } from "./timers.ts";

/** Time before the first job is due, in milliseconds: longer than the scheduler keeps a job in memory. */
const LEAD_MS = 15_000;

export const window: Scenario = {
  name: "window",
  about:
    "Delayed jobs that are due later than a scheduler keeps them in memory, with the reads of PostgreSQL alone, and with the window in Redis. The CPU of Redis is not counted.",
  isOnRequest: true,
  cases: ({ isQuick }) => {
    const [jobs, overMs] = isQuick ? [500, 5_000] : [10_000, 20_000];
    return [
      {
        name: "window-timers",
        title: `window: ${jobs.toLocaleString("en")} timers over ${overMs / 1_000} s, ${LEAD_MS / 1_000} s ahead`,
        contenders: [mainspring, mainspringWindow],
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage);
          return await fire(course, { jobs, overMs }, LEAD_MS);
        },
      },
    ];
  },
};
