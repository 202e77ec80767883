import { prefixed } from "../figures.ts";
import { Course } from "../load/course.ts";
import { ratioOf } from "./backlog.ts";
import { pickUp } from "./pickup.ts";
import type { Scenario } from "./scenario.ts";

export const snapshot: Scenario = {
  name: "snapshot",
  about:
    "First comes a drain. Then a transaction of another connection takes a snapshot (`REPEATABLE READ`) and stays open, so that PostgreSQL can remove no row version that is dead since. The benchmark drains more jobs while the snapshot is open, then repeats the first drain, and then measures pickup. The ratio is the last drain's rate to the first one's.",
  cases: ({ isQuick }) => {
    const { drained, churned, seconds } = isQuick
      ? { drained: 10_000, churned: 20_000, seconds: 2 }
      : { drained: 100_000, churned: 500_000, seconds: 10 };
    return [
      {
        name: "snapshot",
        title: `with a snapshot held open while ${churned.toLocaleString("en")} jobs run`,
        runsMax: 1,
        takes: ({ name }) => !name.startsWith("bullmq"),
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage, { connections: 64 });
          const clean = await course.drain(drained);
          const { holdSnapshot } = course.rig;
          if (holdSnapshot === null) throw new Error("there is no PostgreSQL to take a snapshot of");
          await using _held = await holdSnapshot();
          await course.drain(churned);
          const burdened = await course.drain(drained);
          const picked = await pickUp(course, { perSec: 200, seconds });
          return { ratio: ratioOf(burdened, clean), ...burdened, ...prefixed("pickup", picked) };
        },
      },
    ];
  },
};
