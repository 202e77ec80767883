import type { Figures } from "../figures.ts";
import { latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { openLoop } from "../load/open-loop.ts";
import { Meter } from "../meter/meter.ts";
import type { Case, Scenario } from "./scenario.ts";

export const pickup: Scenario = {
  name: "pickup",
  about:
    "A client sends single submits at a fixed rate, without waiting for answers, to an idle system with one worker process. The time counts from the intended send until the handler's start.",
  cases: ({ isQuick }) => {
    const seconds = isQuick ? 2 : 20;
    return [pickupCase(200, seconds), pickupCase(2_000, seconds)];
  },
};

/** Warm-up with singly submitted jobs, in addition to that of every case. */
const WARM_UP = { perSec: 1_000, seconds: 1 };

export function pickupCase(perSec: number, seconds: number): Case {
  return {
    name: `pickup-${perSec}`,
    title: `pickup at ${perSec.toLocaleString("en")} jobs/s for ${seconds} s`,
    runsMax: 2,
    hasVariants: true,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { connections: 64 });
      await pickUp(course, WARM_UP);
      return await pickUp(course, { perSec, seconds });
    },
  };
}

/** Measures pickup; the course's worker is started. */
export async function pickUp(course: Course, { perSec, seconds }: typeof WARM_UP): Promise<Figures> {
  const { rig } = course;
  const jobs = perSec * seconds;
  await rig.worker.expect(jobs);
  const meter = await Meter.begin(rig);
  const intendedAtMs = await openLoop({ sends: jobs, perSec, send: (n) => rig.submit({ n }) });
  await course.finished(jobs, { meter });
  const costs = await meter.perJob(jobs);
  const { startedAtMs } = await course.verified(jobs);
  return { ...latenessOf(startedAtMs.map((atMs, n) => atMs - (intendedAtMs[n] ?? 0))), ...costs };
}
