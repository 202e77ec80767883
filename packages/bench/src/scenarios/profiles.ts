import {
  mainspring,
  mainspringA,
  mainspringB,
  mainspringCluster,
  mainspringOnRedis,
} from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import type { Figures } from "../figures.ts";
import { latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { openLoop } from "../load/open-loop.ts";
import { prefill } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import { pickupCase } from "./pickup.ts";
import type { Case, Scenario } from "./scenario.ts";

/** Number of jobs in a submit. */
const BATCH = 100;
/** The same where the cost of Redis is measured. */
const LARGE_BATCH = 500;
const A_DAY_MS = 86_400_000;

export const profiles: Scenario = {
  name: "profiles",
  about: `One node on PostgreSQL alone, three of them, and three with all servers of profile A and of profile B. Clients send batches of ${BATCH} jobs at a fixed rate, without waiting for answers, and then single jobs. The times count from the intended send until the handler's start. The CPU of Kafka, etcd, ClickHouse, the receiver of OpenTelemetry and a Redis that is not the store is not counted, although they take it from the same machine. Two more cases measure a Redis that is the store: its CPU for the whole life of a job in submits of ${LARGE_BATCH}, and its memory for jobs that wait for tomorrow.`,
  isOnRequest: true,
  cases: ({ isQuick, perSec }) => [
    ...[steadyCase(perSec, isQuick ? 5 : 60), pickupCase(200, isQuick ? 5 : 20)].map((item) => ({
      ...item,
      name: `profiles-${item.name}`,
      title: `profiles: ${item.title}`,
      contenders: [mainspring, mainspringCluster(3), mainspringA, mainspringB],
    })),
    costCase(isQuick ? 2_000 : 200_000),
    memoryCase(isQuick ? 2_000 : 1_000_000),
  ],
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

/** The life of jobs, from their submit to their end in the store. */
function costCase(jobs: number): Case {
  return {
    name: "profiles-redis-cost",
    title: `Redis as the store: ${jobs.toLocaleString("en")} jobs in batches of ${LARGE_BATCH}`,
    contenders: [mainspringOnRedis],
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage);
      const { rig } = course;
      await rig.worker.expect(jobs);
      const meter = await Meter.begin(rig);
      await prefill(rig, jobs, undefined, LARGE_BATCH);
      await course.finished(jobs, { meter });
      const costs = await meter.perJob(jobs);
      await course.verified(jobs);
      return costs;
    },
  };
}

/** Memory of Redis for jobs that wait. */
function memoryCase(jobs: number): Case {
  return {
    name: "profiles-redis-memory",
    title: `Redis as the store: memory of ${jobs.toLocaleString("en")} jobs that wait for tomorrow`,
    runsMax: 1,
    contenders: [mainspringOnRedis],
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage);
      const { rig } = course;
      if (!(rig instanceof MainspringRig)) throw new Error("only Mainspring's store is measured");
      const before = await rig.storedBytes();
      const tomorrowMs = Math.ceil(Date.now()) + A_DAY_MS;
      await prefill(rig, jobs, (n) => ({ n, runAtMs: tomorrowMs + n }), LARGE_BATCH);
      return { bytesPerJob: ((await rig.storedBytes()) - before) / jobs };
    },
  };
}
