import { mainspring, mainspringTelling, mainspringToKafka } from "../contenders/mainspring/mainspring.ts";
import { Course } from "../load/course.ts";
import type { Case, Scenario } from "./scenario.ts";

export const drain: Scenario = {
  name: "drain",
  about:
    "One worker process runs prefilled jobs that do nothing. The time counts from the first handler's start until the store has the last finish.",
  cases: ({ isQuick }) => (isQuick ? [drainCase(20_000)] : [drainCase(20_000), drainCase(200_000)]),
};

/** A drain with lifecycle events beside one without. Each job has four events. */
export const events: Scenario = {
  name: "events",
  about:
    "A drain without lifecycle events, with events that the store keeps (`MAINSPRING_EVENTS=api`), and with events that go to Kafka. The CPU of the broker is not counted.",
  isOnRequest: true,
  cases: ({ isQuick }) => {
    const item = drainCase(isQuick ? 20_000 : 200_000);
    const contenders = [mainspring, mainspringTelling, mainspringToKafka];
    return [{ ...item, name: `events-${item.name}`, title: `events: ${item.title}`, contenders }];
  },
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
