import { nowMs, pause } from "../clock.ts";
import type { Rig } from "../contenders/contender.ts";
import { Course } from "../load/course.ts";
import { cpuUsOf, treeCpuUsOf } from "../meter/process-cpu.ts";
import type { Scenario } from "./scenario.ts";

/** Time for earlier work to come to rest, in milliseconds. */
const REST_MS = 3_000;

export const idle: Scenario = {
  name: "idle",
  about:
    "A system with one worker process has nothing to do. The table shows the statements (for Redis: commands) that reach the store each second, and the CPU of all processes, including the store's, in percent of one core.",
  cases: ({ isQuick }) => {
    const lastsMs = isQuick ? 3_000 : 20_000;
    return [
      {
        name: "idle",
        title: `idle for ${lastsMs / 1_000} s`,
        runsMax: 1,
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage);
          const { rig } = course;
          await pause(REST_MS);
          const beginMs = nowMs();
          const beginUs = cpuOf(rig);
          const wait = () => pause(lastsMs);
          const statements = (await rig.statementsDuring?.(wait)) ?? (await wait(), null);
          const elapsedMs = nowMs() - beginMs;
          const cpuPercent = (cpuOf(rig) - beginUs) / elapsedMs / 10;
          return { cpuPercent, ...(statements !== null && { statementsPerSec: statements / (elapsedMs / 1_000) }) };
        },
      },
    ];
  },
};

function cpuOf(rig: Rig): number {
  const { server, worker, store } = rig.processes();
  const own = [...server, ...worker].reduce((us, pid) => us + cpuUsOf(pid), 0);
  return store.reduce((us, pid) => us + treeCpuUsOf(pid), own);
}
