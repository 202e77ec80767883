import { nowMs, pause } from "../clock.ts";
import { mainspring, mainspringDefault } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { residentMiBOf } from "../meter/process-memory.ts";
import type { Case, Scenario } from "./scenario.ts";

/** Pool of the herd, which has no worker, so that only the intake of its jobs can delay others. */
const HERD = "herd";
const A_DAY_SEC = 86_400;
/** Largest number of jobs that show how long the submits of the herd will take. */
const SAMPLE_MAX = 5_000;
/** Time between the estimated end of the submits and the herd's instant, in milliseconds. */
const LEAD_MS = 5_000;
/** Longest wait for the jobs beside a herd, in milliseconds; each job of the herd adds a millisecond. */
const LATEST_MS = 180_000;

export const midnight: Scenario = {
  name: "midnight",
  about: `Jobs of the pool "${HERD}", which has no worker, are due at one instant. Half a second later the first job of another pool is due, and one more every 100 ms. In the second case recurring jobs of the pool "${HERD}" fire at one instant, and five of another pool at the same instant. The lateness is that of the other pool's jobs: from the instant when a job is due until the handler's start.`,
  cases: ({ isQuick, herdJobs }) => casesOf(herdJobs, isQuick ? 10 : 100),
};

/** @param others number of jobs of the other pool beside a herd of one-time jobs */
function casesOf(herdJobs: number, others: number): Case[] {
  return [
    midnightCase(
      "herd",
      `${herdJobs.toLocaleString("en")} jobs due at one instant, beside ${others} of another pool`,
      (course) => besideHerd(course, herdJobs, others),
    ),
    midnightCase(
      "recurring",
      `${herdJobs.toLocaleString("en")} recurring jobs of one instant, beside five of another pool`,
      (course) => besideRecurring(course, herdJobs),
    ),
  ];
}

function midnightCase(name: string, title: string, measure: (course: Course) => Promise<Figures>): Case {
  return {
    name: `midnight-${name}`,
    title,
    runsMax: 1,
    contenders: [mainspringDefault, mainspring],
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage);
      return { ...(await measure(course)), residentMiB: residentMiBOf(course.rig.processes().server) };
    },
  };
}

/** Time from the herd's instant until the first job of the other pool is due, and between two of them, in milliseconds. */
const AFTER_MS = 500;
const EVERY_MS = 100;

async function besideHerd(course: Course, herdJobs: number, others: number): Promise<Figures> {
  const { rig } = course;
  const tomorrowMs = Math.ceil(nowMs()) + A_DAY_SEC * 1_000;
  const herd = (jobs: number, runAtMs: number) => prefill(rig, jobs, (n) => ({ n, pool: HERD, runAtMs }));
  const atMs = await instantAfter(herdJobs, (jobs) => herd(jobs, tomorrowMs));
  const dueAtMs = (n: number) => atMs + AFTER_MS + n * EVERY_MS;
  await rig.worker.expect(others);
  await prefill(rig, others, (n) => ({ n, runAtMs: dueAtMs(n) }));
  await herd(herdJobs, atMs);
  // The herd is due and never runs, so a recount sees whether it is whole.
  course.stuck = herdJobs;
  return await latenessOfOthers(course, { herdJobs, atMs, jobs: others, dueAtMs });
}

const QUIET = 5;

async function besideRecurring(course: Course, herdJobs: number): Promise<Figures> {
  const { rig } = course;
  if (!(rig instanceof MainspringRig)) throw new Error("recurring jobs have a server");
  const daily = (jobs: number, startAtMs: number, pool?: string) =>
    rig.submitRecurring(jobs, { everySec: A_DAY_SEC, startAt: new Date(startAtMs).toISOString() }, pool);
  const nextWeekMs = nowMs() + 7 * A_DAY_SEC * 1_000;
  const atMs = await instantAfter(herdJobs, (jobs) => daily(jobs, nextWeekMs, HERD));
  await rig.worker.expect(QUIET);
  await daily(herdJobs, atMs, HERD);
  await daily(QUIET, atMs);
  course.stuck = herdJobs;
  return await latenessOfOthers(course, { herdJobs, atMs, jobs: QUIET, dueAtMs: () => atMs });
}

/** @param submit submits jobs of the kind that follows. @returns an instant that leaves twice the time that the sample suggests for the submits, in whole seconds */
export async function instantAfter(herdJobs: number, submit: (jobs: number) => Promise<void>): Promise<number> {
  const beganMs = nowMs();
  const sample = Math.min(SAMPLE_MAX, herdJobs);
  await submit(sample);
  const needsMs = ((nowMs() - beganMs) * herdJobs) / sample;
  return Math.ceil((nowMs() + 2 * needsMs + LEAD_MS) / 1_000) * 1_000;
}

interface Beside {
  herdJobs: number;
  /** Instant of the herd, in milliseconds since 1970. */
  atMs: number;
  /** Number of jobs of the other pool. */
  jobs: number;
  dueAtMs(n: number): number;
}

async function latenessOfOthers(course: Course, { herdJobs, atMs, jobs, dueAtMs }: Beside): Promise<Figures> {
  if (nowMs() > atMs) throw new Error(`${herdJobs} jobs could not be submitted before their instant`);
  await pause(atMs - nowMs());
  await course.finished(jobs, { withinMs: LATEST_MS + herdJobs });
  const { startedAtMs } = await course.verified(jobs);
  return latenessOf(startedAtMs.map((startMs, n) => startMs - dueAtMs(n)));
}
