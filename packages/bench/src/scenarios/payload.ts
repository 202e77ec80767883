import { createHash } from "node:crypto";
import { nowMs } from "../clock.ts";
import type { Rig } from "../contenders/contender.ts";
import type { Figures } from "../figures.ts";
import { Course } from "../load/course.ts";
import { Meter } from "../meter/meter.ts";
import { forgetPeaks, peakMiBOf } from "../meter/process-memory.ts";
import type { Scenario } from "./scenario.ts";

const MIB = 1_048_576;
/** Text of a payload, which is 1 MiB with the other fields around it. No store can compress it. */
const FILLER = createHash("shake256", { outputLength: MIB })
  .update("filler")
  .digest("base64")
  .slice(0, MIB - 100);
const CALLERS = 8;

export const payload: Scenario = {
  name: "payload",
  about: `Payloads of 1 MiB. ${CALLERS} callers submit one job at a time while a worker process runs them. The rate is that of the payloads, from the first submit until the store has the last finish. The table shows the largest memory of the server and of the worker process meanwhile.`,
  cases: ({ isQuick }) => {
    const jobs = isQuick ? 64 : 2_000;
    return [
      {
        name: "payload-1m",
        title: `${jobs.toLocaleString("en")} payloads of 1 MiB`,
        runsMax: 1,
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage);
          return await measurePayloads(course, jobs);
        },
      },
    ];
  },
};

async function measurePayloads(course: Course, jobs: number): Promise<Figures> {
  const { rig } = course;
  const { server, worker } = rig.processes();
  for (const pid of [...server, ...worker]) forgetPeaks(pid);
  await rig.worker.expect(jobs);
  const meter = await Meter.begin(rig);
  const beganMs = nowMs();
  await submitAll(rig, jobs);
  const endedMs = await course.finished(jobs, { meter });
  const peaks = {
    ...(server.length > 0 && { serverPeakMiB: peakMiBOf(server) }),
    workerPeakMiB: peakMiBOf(worker),
  };
  const costs = await meter.perJob(jobs);
  await course.verified(jobs);
  return { mibPerSec: jobs / ((endedMs - beganMs) / 1_000), ...peaks, ...costs };
}

async function submitAll(rig: Rig, jobs: number): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < jobs) await rig.submit({ n: next++, filler: FILLER });
  };
  await Promise.all(Array.from({ length: CALLERS }, call));
}
