import { nowMs, pause } from "../clock.ts";
import type { Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { Course } from "../load/course.ts";
import { BATCH } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import type { Case, Scenario } from "./scenario.ts";

export const cycle: Scenario = {
  name: "cycle",
  about:
    "Clients submit batches of a thousand while a worker process drains them. The next batch is sent when fewer than 20,000 jobs wait, so the rate holds without a growing backlog. Costs are those of a job for its whole life. A run has three parts that count as one run each.",
  cases: ({ isQuick }) => [cycleCase(isQuick ? 1_500 : 20_000)],
};

/** Largest backlog. With more, the backlog would grow; with less, the worker would be idle. */
const BACKLOG_MAX = 20_000;
const CALLERS = 2;
const PARTS = 3;
const SETTLE_IN_MS = 2_000;
/** Largest rate of submits per second, above every measured throughput. */
const PER_SEC_MAX = 250_000;

export function cycleCase(partMs: number): Case {
  return {
    name: "cycle",
    title: `cycle for ${(partMs * PARTS) / 1_000} s`,
    runsMax: 1,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage);
      const { rig } = course;
      await rig.worker.expect(Math.ceil(((SETTLE_IN_MS + partMs * PARTS) / 1_000) * PER_SEC_MAX));
      const stopping = new AbortController();
      const submitting = submitAll(course, stopping.signal);
      const parts: Figures[] = [];
      await Promise.race([pause(SETTLE_IN_MS), submitting]);
      const meter = await Meter.begin(rig);
      const before = rig.worker.runs;
      while (parts.length < PARTS) parts.push(await Promise.race([part(rig, partMs), failure(submitting)]));
      // The cost covers the whole run: jobs run in bursts, so costs and jobs of a part that ends within a burst do not
      // belong together.
      const costs = await meter.perJob(rig.worker.runs - before);
      stopping.abort();
      const submitted = await submitting;
      await course.finished(submitted);
      await course.verified(submitted);
      return parts.map((rate) => ({ ...rate, ...costs }));
    },
  };
}

async function submitAll({ rig }: Course, signal: AbortSignal): Promise<number> {
  let submitted = 0;
  const call = async () => {
    while (!signal.aborted) {
      if (submitted - rig.worker.runs > BACKLOG_MAX - BATCH) {
        await pause(1);
        continue;
      }
      const from = submitted;
      submitted += BATCH;
      await rig.submitBatch(Array.from({ length: BATCH }, (_, index) => ({ n: from + index })));
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
  return submitted;
}

async function part(rig: Rig, lastsMs: number): Promise<Figures> {
  const before = rig.worker.runs;
  const beginMs = nowMs();
  await pause(lastsMs);
  const jobs = rig.worker.runs - before;
  const elapsedSec = (nowMs() - beginMs) / 1_000;
  return { jobsPerSec: jobs / elapsedSec };
}

/** Never resolves; rejects if submitting fails. */
async function failure(submitting: Promise<number>): Promise<never> {
  await submitting;
  throw new Error("submitting ended by itself");
}
