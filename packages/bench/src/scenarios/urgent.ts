import { until } from "../clock.ts";
import { mainspring, mainspringDefault } from "../contenders/mainspring/mainspring.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { Course } from "../load/course.ts";
import { openLoop } from "../load/open-loop.ts";
import { prefill } from "../load/prefill.ts";
import type { Scenario } from "./scenario.ts";

interface Sizes {
  /** Number of slow jobs. */
  slow: number;
  holdMs: number;
  /** Number of CRITICAL jobs. */
  critical: number;
}

/** Interval of looks at the worker's records, in milliseconds. */
const LOOK_EVERY_MS = 250;
const STARTED_WITHIN_MS = 600_000;

export const urgent: Scenario = {
  name: "urgent",
  about:
    "One worker process has a backlog of slow jobs, of which it may hold some ahead. When the first of them run, a client sends CRITICAL jobs at a fixed rate, three for the length of one slow job. The lateness is that of the CRITICAL jobs: from the intended send until the handler's start. The backlog is not drained.",
  cases: ({ isQuick }) => {
    const sizes = isQuick ? { slow: 1_000, holdMs: 500, critical: 9 } : { slow: 10_000, holdMs: 2_000, critical: 30 };
    return [
      {
        name: "urgent",
        title: `CRITICAL jobs behind ${sizes.slow.toLocaleString("en")} jobs of ${sizes.holdMs / 1_000} s`,
        runsMax: 1,
        contenders: [mainspringDefault, mainspring],
        measure: async (contender, stage) => {
          await using course = await Course.warm(contender, stage);
          return await measureUrgent(course, sizes);
        },
      },
    ];
  },
};

async function measureUrgent({ rig }: Course, { slow, holdMs, critical }: Sizes): Promise<Figures> {
  await rig.worker.expect(slow + critical);
  await prefill(rig, slow, (n) => ({ n, holdMs }));
  await rig.worker.reached(1);
  const send = (n: number) => rig.submit({ n: slow + n, priority: "CRITICAL" });
  const intendedAtMs = await openLoop({ sends: critical, perSec: 3_000 / holdMs, send });
  const startedAtMs = await until("the last CRITICAL job's start", STARTED_WITHIN_MS, LOOK_EVERY_MS, async () => {
    const report = await rig.worker.report();
    if (report.runs !== report.distinct) throw new Error(`${report.runs} runs of ${report.distinct} jobs`);
    const started = report.startedAtMs.subarray(slow);
    return started.includes(0) ? null : started;
  });
  return latenessOf(startedAtMs.map((atMs, n) => atMs - (intendedAtMs[n] ?? 0)));
}
