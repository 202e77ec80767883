import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { ratioOf } from "./backlog.ts";
import type { Scenario } from "./scenario.ts";

export const stuck: Scenario = {
  name: "stuck",
  about:
    "First comes a drain. Then come jobs that require a capability no worker has, and behind them as many runnable jobs as in the first drain. The ratio is the second drain's rate to the first one's. Only contenders with capabilities take part.",
  cases: ({ isQuick }) => {
    const [hopeless, runnable] = isQuick ? [10_000, 10_000] : [100_000, 50_000];
    return [
      {
        name: "stuck",
        title: `${hopeless.toLocaleString("en")} jobs that nobody can run, ahead of ${runnable.toLocaleString("en")}`,
        takes: ({ hasCapabilities }) => hasCapabilities,
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage);
          const clean = await course.drain(runnable);
          await prefill(course.rig, hopeless, (n) => ({ n, requires: "what-nobody-has" }));
          course.stuck = hopeless;
          const behind = await course.drain(runnable);
          return { ratio: ratioOf(behind, clean), ...behind };
        },
      },
    ];
  },
};
