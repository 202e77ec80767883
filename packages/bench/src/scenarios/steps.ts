import type { Rig } from "../contenders/contender.ts";
import { mainspring, mainspringDefault } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import { type Figures, latenessOf, stepCosts } from "../figures.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import { drainCase } from "./drain.ts";
import type { Case, Scenario } from "./scenario.ts";
import { NEEDS_STEPS, sleepersCase } from "./sleepers.ts";

/** Number of slots in the case that measures the rate. */
const MANY = 100;

export const steps: Scenario = {
  name: "steps",
  about: `Handlers with durable steps, and a worker process with default settings besides its slots. The first case has one slot: the time counts from the call of \`ctx.step.run\`, with a function that does nothing, until the handler goes on. In the second case ${MANY} handlers at once each run 50 such steps one after another, and the costs are those of a step, with its share of the job. In the third case handlers sleep for an hour: the rate and the costs are those of their suspension, from the first handler's start until the store has the last suspension. While they sleep, the table shows the occupied slots, the growth of the memory that the server's objects use after a collection, the server's CPU in percent of one core, and the statements that reach the store each second. The last case is a drain of jobs without steps, for comparisons with an earlier commit.`,
  cases: ({ isQuick, sleepers }) => [
    latencyCase({ jobs: isQuick ? 4 : 20, steps: 200 }),
    rateCase({ jobs: isQuick ? 200 : 4_000, steps: 50 }),
    sleepersCase({ sleepers, restMs: isQuick ? 3_000 : 20_000 }),
    withoutCase(isQuick ? 20_000 : 200_000),
  ],
};

interface StepsLoad {
  jobs: number;
  /** Number of steps of each job. */
  steps: number;
}

/** Warm-up in addition to that of every case, as a part of the measured jobs. */
const WARM_UP_PART = 0.2;

export function latencyCase(load: StepsLoad): Case {
  return stepsCase("latency", "durable steps, one at a time", 1, load, async (course) => {
    const { figures, stepMs } = await measureSteps(course, load);
    return { ...latenessOf(stepMs), ...figures };
  });
}

export function rateCase(load: StepsLoad): Case {
  return stepsCase("rate", `durable steps of ${MANY} handlers at once`, MANY, load, async (course) => {
    const { figures } = await measureSteps(course, load);
    return figures;
  });
}

function stepsCase(
  name: string,
  title: string,
  slots: number,
  load: StepsLoad,
  measure: (course: Course) => Promise<Figures>,
): Case {
  const { jobs, steps: each } = load;
  return {
    name: `steps-${name}`,
    title: `${(jobs * each).toLocaleString("en")} ${title}`,
    needs: NEEDS_STEPS,
    contenders: [mainspringDefault],
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { slots });
      await warmUp(course, { jobs: Math.ceil(jobs * WARM_UP_PART), steps: each });
      return await measure(course);
    },
  };
}

/** Runs prefilled jobs, and measures from the first handler's start until the store has the last finish. */
async function measureSteps(course: Course, load: StepsLoad) {
  const { rig } = course;
  const expected = load.jobs * load.steps;
  await rig.hold();
  const run = await submitSteps(course, load);
  const meter = await Meter.begin(rig);
  await rig.release();
  const endedAtMs = await course.finished(load.jobs, { meter });
  const costs = stepCosts(await meter.perJob(expected));
  const { firstAtMs, stepMs } = await run.verified();
  return { stepMs, figures: { stepsPerSec: expected / ((endedAtMs - firstAtMs) / 1_000), ...costs } };
}

async function warmUp(course: Course, load: StepsLoad): Promise<void> {
  const run = await submitSteps(course, load);
  await course.finished(load.jobs);
  await run.verified();
}

/** @returns a function for the end of the jobs, which throws if one did not run exactly once, or if a step is not recorded */
async function submitSteps(course: Course, { jobs, steps: each }: StepsLoad) {
  const { rig } = course;
  const before = await recordedSteps(rig);
  await rig.worker.expect(jobs);
  await prefill(rig, jobs, (n) => ({ n, steps: each }));
  const verified = async () => {
    const { firstAtMs, stepMs = new Float64Array(0) } = await course.verified(jobs);
    const recorded = (await recordedSteps(rig)) - before;
    if (stepMs.length !== jobs * each || recorded !== jobs * each) {
      throw new Error(`of ${jobs * each} steps ${stepMs.length} ran, and ${recorded} are recorded`);
    }
    return { firstAtMs, stepMs };
  };
  return { verified };
}

function recordedSteps(rig: Rig): Promise<number> {
  if (!(rig instanceof MainspringRig)) throw new Error("only Mainspring records steps");
  return rig.countSteps();
}

/** Jobs without steps pay nothing for those of others: `--compare` shows it. */
function withoutCase(jobs: number): Case {
  return {
    ...drainCase(jobs),
    name: "steps-none",
    title: `drain of ${jobs.toLocaleString("en")} jobs without steps`,
    // Default settings may differ between two releases.
    contenders: [mainspringDefault, mainspring],
  };
}
