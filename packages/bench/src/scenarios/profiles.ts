import { mainspring, mainspringB, mainspringCluster } from "../contenders/mainspring/mainspring.ts";
import type { Figures } from "../figures.ts";
import { latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { openLoop } from "../load/open-loop.ts";
import { Meter } from "../meter/meter.ts";
import { pickupCase } from "./pickup.ts";
import type { Case, Scenario } from "./scenario.ts";

/** Number of jobs in a submit. */
const BATCH = 100;

export const profiles: Scenario = {
  name: "profiles",
  about: `One node on PostgreSQL alone, three of them, and three with all servers of profile B. Clients send batches of ${BATCH} jobs at a fixed rate, without waiting for answers, and then single jobs. The times count from the intended send until the handler's start. The CPU of Kafka, Redis, etcd, ClickHouse and the receiver of OpenTelemetry is not counted, although they take it from the same machine.`,
  isOnRequest: true,
  cases: ({ isQuick }) =>
    [steadyCase(isQuick ? 1_000 : 5_000, isQuick ? 5 : 60), pickupCase(200, isQuick ? 5 : 20)].map((item) => ({
      ...item,
      name: `profiles-${item.name}`,
      title: `profiles: ${item.title}`,
      contenders: [mainspring, mainspringCluster(3), mainspringB],
    })),
};

/** Jobs a second that a system accepts and runs for a time. The rate is that of the finished jobs, until the last one. */
function steadyCase(perSec: number, seconds: number): Case {
  return {
    name: `steady-${perSec}`,
    title: `${perSec.toLocaleString("en")} jobs/s in batches of ${BATCH} for ${seconds} s`,
    runsMax: 1,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { connections: 64 });
      await steady(course, perSec, 2);
      return await steady(course, perSec, seconds);
    },
  };
}

async function steady(course: Course, perSec: number, seconds: number): Promise<Figures> {
  const { rig } = course;
  const sends = (perSec * seconds) / BATCH;
  const jobs = sends * BATCH;
  await rig.worker.expect(jobs);
  const meter = await Meter.begin(rig);
  const batchOf = (n: number) => Array.from({ length: BATCH }, (_, index) => ({ n: n * BATCH + index }));
  const send = (n: number) => rig.submitBatch(batchOf(n));
  const intendedAtMs = await openLoop({ sends, perSec: perSec / BATCH, send });
  const endedAtMs = await course.finished(jobs, { meter });
  const costs = await meter.perJob(jobs);
  const { startedAtMs } = await course.verified(jobs);
  const lateness = startedAtMs.map((atMs, n) => atMs - (intendedAtMs[Math.floor(n / BATCH)] ?? 0));
  return { jobsPerSec: jobs / ((endedAtMs - (intendedAtMs[0] ?? 0)) / 1_000), ...latenessOf(lateness), ...costs };
}
