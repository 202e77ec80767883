import { nowMs, pause, until } from "../clock.ts";
import { mainspring, mainspringCluster } from "../contenders/mainspring/mainspring.ts";
import { MainspringRig } from "../contenders/mainspring/mainspring-rig.ts";
import type { Figures } from "../figures.ts";
import { Course } from "../load/course.ts";
import { prefill } from "../load/prefill.ts";
import { cpuUsOf } from "../meter/process-cpu.ts";
import { residentMiBOf } from "../meter/process-memory.ts";
import { ForkedWorker } from "../worker/forked-worker.ts";
import { ratioOf } from "./backlog.ts";
import type { Scenario } from "./scenario.ts";

const FILE = new URL("../contenders/mainspring/fleet-process.ts", import.meta.url);
const PROCESSES = 4;
const SLOTS = 10;
const DONE_WITHIN_MS = 600_000;

export const fleet: Scenario = {
  name: "fleet",
  about: `Simulated workers in ${PROCESSES} processes, each with ${SLOTS} slots, its own connection and heartbeats, connect to one server, or to the gateways of three servers that form a cluster. The table shows the servers' memory and CPU (in percent of one core) while they have nothing to do, and the rate at which they run jobs of a pool that is resumed. The ratio is that rate to the one of a single worker process with the same pool.`,
  cases: ({ isQuick }) => {
    const workers = isQuick ? 500 : 10_000;
    const sizes = { workers, jobs: isQuick ? 10_000 : 100_000, idleMs: isQuick ? 5_000 : 30_000 };
    return [
      {
        name: "fleet",
        title: `a fleet of ${workers.toLocaleString("en")} workers`,
        runsMax: 1,
        contenders: isQuick ? [mainspring] : [mainspring, mainspringCluster(3, "POOL")],
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage);
          const { rig } = course;
          if (!(rig instanceof MainspringRig)) throw new Error("a fleet has a server");
          return await measureFleet(rig, { ...sizes, before: course.jobsBefore });
        },
      },
    ];
  },
};

interface Sizes {
  workers: number;
  jobs: number;
  idleMs: number;
  /** Number of jobs that have finished already. */
  before: number;
}

async function measureFleet(rig: MainspringRig, { workers, jobs, idleMs, before }: Sizes): Promise<Figures> {
  const alone = await resumed(rig, [rig.worker], { jobs, before });
  await rig.worker.stop();

  const processes: ForkedWorker[] = [];
  try {
    const each = workers / PROCESSES;
    for (let index = 0; index < PROCESSES; index++) {
      const settings = { addresses: rig.grpcAddresses, workers: each, slots: SLOTS, from: index * each };
      processes.push(await ForkedWorker.open(FILE, settings));
    }
    await Promise.all(processes.map((process) => process.start()));
    const resting = await restOf(rig, idleMs);
    const together = await resumed(rig, processes, { jobs, before: before + jobs });
    return { ratio: ratioOf(together, alone), ...together, ...resting };
  } finally {
    for (const process of processes) await process[Symbol.asyncDispose]();
  }
}

/** CPU time of all servers together while only heartbeats happen. */
async function restOf(rig: MainspringRig, lastsMs: number): Promise<Figures> {
  const { server } = rig.processes();
  const sum = (of: (pid: number) => number) => server.reduce((total, pid) => total + of(pid), 0);
  const [beginMs, beginUs] = [nowMs(), sum(cpuUsOf)];
  await pause(lastsMs);
  const cpuPercent = (sum(cpuUsOf) - beginUs) / (nowMs() - beginMs) / 10;
  return { cpuPercent, residentMiB: residentMiBOf(server) };
}

/** Measures jobs that were submitted while the pool was paused, from its resume on, as any drain. */
async function resumed(
  rig: MainspringRig,
  processes: readonly ForkedWorker[],
  { jobs, before }: { jobs: number; before: number },
): Promise<Figures> {
  for (const process of processes) await process.expect(jobs);
  await rig.hold();
  await prefill(rig, jobs);
  await rig.release();
  const runs = () => processes.reduce((sum, process) => sum + process.runs, 0);
  await until(`${jobs} runs`, DONE_WITHIN_MS, 5, () => (runs() >= jobs ? true : null));
  const endedAtMs = await rig.settled(before + jobs, { stuck: 0, atRest: async () => {} });
  const reports = await Promise.all(processes.map((process) => process.report()));
  const ran = new Set(
    reports.flatMap(({ startedAtMs }) => [...startedAtMs.keys()].filter((n) => startedAtMs[n] !== 0)),
  );
  const { unfinished } = await rig.recount(0);
  if (runs() !== jobs || ran.size !== jobs || unfinished !== 0) {
    throw new Error(`${jobs} jobs were submitted: ${runs()} runs of ${ran.size} jobs, ${unfinished} are left`);
  }
  const beganAtMs = Math.min(...reports.filter((report) => report.runs > 0).map(({ firstAtMs }) => firstAtMs));
  return { jobsPerSec: jobs / ((endedAtMs - beganAtMs) / 1_000) };
}
