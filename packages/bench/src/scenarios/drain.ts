import { Course } from "../load/course.ts";
import type { Case, Scenario } from "./scenario.ts";

export const drain: Scenario = {
  name: "drain",
  about:
    "One worker process runs prefilled jobs that do nothing. The time counts from the first handler's start until the store has the last finish.",
  cases: ({ isQuick }) => (isQuick ? [drainCase(20_000)] : [drainCase(20_000), drainCase(200_000)]),
};

export function drainCase(jobs: number): Case {
  return {
    name: `drain-${jobs / 1_000}k`,
    title: `drain of ${jobs.toLocaleString("en")} jobs`,
    hasVariants: true,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage);
      return await course.drain(jobs);
    },
  };
}
