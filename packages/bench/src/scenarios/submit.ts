import { nowMs } from "../clock.ts";
import type { Rig } from "../contenders/contender.ts";
import { type Figures, latenessOf } from "../figures.ts";
import { BATCH } from "../load/prefill.ts";
import { Meter } from "../meter/meter.ts";
import type { Case, Scenario } from "./scenario.ts";

export const submit: Scenario = {
  name: "submit",
  about:
    "Callers that submit one job, or a batch of a thousand, and the next when that was accepted; no worker. The latency is a call's.",
  cases: ({ isQuick }) => {
    const lastsMs = isQuick ? 2_000 : 5_000;
    return [
      submitCase({ name: "submit-16", title: "single submits, 16 callers", callers: 16, batch: 1, lastsMs }),
      submitCase({ name: "submit-64", title: "single submits, 64 callers", callers: 64, batch: 1, lastsMs }),
      submitCase({
        name: "submit-batches",
        title: `submits in batches of ${BATCH}, 4 callers`,
        callers: 4,
        batch: BATCH,
        lastsMs,
      }),
    ];
  },
};

interface Load {
  name: string;
  title: string;
  callers: number;
  batch: number;
  lastsMs: number;
}

function submitCase(load: Load): Case {
  const { name, title, callers } = load;
  return {
    name,
    title,
    measure: async (contender, stage) => {
      await using rig = await contender.open(stage, { connections: callers });
      await calls(rig, { ...load, lastsMs: 1_000 }, 0);
      const accepted = (await rig.recount(0)).unfinished;
      return await calls(rig, load, accepted);
    },
  };
}

/** @param before how many jobs were accepted earlier */
async function calls(rig: Rig, { callers, batch, lastsMs }: Load, before: number): Promise<Figures> {
  const meter = await Meter.begin(rig);
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
  const costs = await meter.perJob(jobs);
  const { unfinished } = await rig.recount(0);
  if (unfinished !== before + jobs) throw new Error(`${before + jobs} jobs were accepted, and ${unfinished} are there`);
  return { jobsPerSec: jobs / elapsedSec, ...latenessOf(Float64Array.from(took)), ...costs };
}
