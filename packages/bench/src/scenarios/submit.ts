import { nowMs } from "../clock.ts";
import type { Contender, Rig } from "../contenders/contender.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { BATCH } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import { cpuUsOf } from "../meter/process-cpu.ts";
import type { Case, Scenario } from "./scenario.ts";

export const submit: Scenario = {
  name: "submit",
  about:
    "Each caller submits one job, or a batch of a thousand, and submits the next when the previous one was accepted. The worker does not work meanwhile. The latency is that of a call.",
  cases: ({ isQuick }) => {
    const lastsMs = isQuick ? 1_000 : 5_000;
    const single = (callers: number) => {
      const title = `single submits, ${callers} callers`;
      return submitCase({ name: `submit-${callers}`, title, callers, batch: 1, lastsMs });
    };
    const title = `submits in batches of ${BATCH}, 4 callers`;
    const batches = submitCase({ name: "submit-batches", title, callers: 4, batch: BATCH, lastsMs });
    return isQuick ? [single(16), batches] : [single(16), single(64), batches];
  },
};

/** Submits that do not stop. */
export interface Load {
  name: string;
  title: string;
  callers: number;
  batch: number;
  lastsMs: number;
  /** Contenders of the case; default: all requested ones. */
  contenders?: readonly Contender[];
}

export function submitCase(load: Load): Case {
  const { name, title, callers, contenders } = load;
  return {
    name,
    title,
    hasVariants: true,
    ...(contenders !== undefined && { contenders }),
    // The worker does not work meanwhile.
    takes: ({ hasOwnWorkerOnly }) => hasOwnWorkerOnly !== true,
    measure: async (contender, stage) => {
      await using course = await Course.warm(contender, stage, { connections: callers });
      const { rig } = course;
      await rig.hold();
      // Warm-up with submits of this kind, in addition to that of every case.
      await calls(rig, { ...load, lastsMs: load.lastsMs / 4 }, 0);
      const accepted = (await rig.recount(0)).unfinished;
      return await calls(rig, load, accepted);
    },
  };
}

/** @param before number of jobs that were accepted earlier */
async function calls(rig: Rig, { callers, batch, lastsMs }: Load, before: number): Promise<Figures> {
  const meter = await Meter.begin(rig);
  const clientUs = clientCpuUsOf(rig);
  const took: number[] = [];
  const beginMs = nowMs();
  const call = async () => {
    for (let atMs = nowMs(); atMs < beginMs + lastsMs; ) {
      if (batch === 1) await rig.submit({ n: 0 });
      else await rig.submitBatch(Array.from({ length: batch }, (_, n) => ({ n })));
      const doneMs = nowMs();
      took.push(doneMs - atMs);
      atMs = doneMs;
    }
  };
  await Promise.all(Array.from({ length: callers }, call));
  const jobs = took.length * batch;
  const elapsedSec = (nowMs() - beginMs) / 1_000;
  const clientCpuUs = (clientCpuUsOf(rig) - clientUs) / jobs;
  const costs = await meter.perJob(jobs);
  const withClientCpuUs = (costs.totalCpuUs ?? Number.NaN) + clientCpuUs;
  const { unfinished } = await rig.recount(0);
  if (unfinished !== before + jobs) throw new Error(`${before + jobs} jobs were accepted, and ${unfinished} are there`);
  return {
    jobsPerSec: jobs / elapsedSec,
    ...latenessOf(Float64Array.from(took)),
    ...costs,
    clientCpuUs,
    withClientCpuUs,
  };
}

/** CPU time of the benchmark, which calls the contender's client, and of the client's own process if there is one. */
function clientCpuUsOf(rig: Rig): number {
  const { user, system } = process.cpuUsage();
  const { client = [] } = rig.processes();
  return client.reduce((us, pid) => us + cpuUsOf(pid), user + system);
}
