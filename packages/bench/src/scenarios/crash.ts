import { nowMs } from "../clock.ts";
import type { Scenario } from "./scenario.ts";

const RUNNING = 50;
/** Time for which jobs hold their slot, in milliseconds: longer than any wait for a dead worker. */
const HOLD_MS = 600_000;

export const crash: Scenario = {
  name: "crash",
  about: `A worker process with ${RUNNING} running jobs is killed with SIGKILL. The time counts until another worker has started them all. Graphile Worker is left out: its documentation says four hours. A quick session leaves out the peers, because they take a minute.`,
  cases: ({ isQuick }) => [
    {
      name: "crash",
      title: `${RUNNING} running jobs of a worker that is killed`,
      runsMax: 1,
      takes: ({ name }) => (isQuick ? ["mainspring"] : ["mainspring", "pg-boss-2", "bullmq-everysec"]).includes(name),
      measure: async (contender, stage) => {
        await using rig = await contender.open(stage, { comesBack: true });
        await rig.worker.expect(RUNNING);
        await rig.worker.start();
        await rig.submitBatch(Array.from({ length: RUNNING }, (_, n) => ({ n, holdMs: HOLD_MS })));
        await rig.worker.reached(RUNNING);
        const heir = await rig.anotherWorker();
        await heir.expect(RUNNING);
        await heir.start();
        await rig.worker.kill();
        const killedAtMs = nowMs();
        await heir.reached(RUNNING);
        const { distinct, startedAtMs } = await heir.report();
        if (distinct !== RUNNING) throw new Error(`${distinct} of ${RUNNING} jobs came back, and some twice`);
        return { backMs: Math.max(...startedAtMs) - killedAtMs };
      },
    },
  ],
};
