import { ForkedWorker } from "../../worker/forked-worker.ts";
import type { BenchJob, Contender } from "../contender.ts";
import { PostgresRig } from "../postgres-rig.ts";
import { GRAPHILE, loadGraphile, presetFor } from "./graphile-types.ts";

/** A finished job is a deleted row. */
const LEFT = `SELECT 0 AS finished, count(*) AS unfinished FROM graphile_worker._private_jobs WHERE run_at <= now()`;

export const graphile: Contender = {
  name: "graphile",
  title: "Graphile Worker",
  settings: `concurrentJobs ${GRAPHILE.concurrentJobs}, localQueue ${GRAPHILE.localQueue}, batch delays ${GRAPHILE.batchDelayMs}; deletes finished jobs`,
  isPeer: true,
  hasCapabilities: false,
  open: async (stage, { connections = 16 } = {}) => {
    const database = await (await stage.postgres()).database();
    const library = await loadGraphile();
    const utils = await library.makeWorkerUtils({ preset: presetFor(library, database.url, connections) });
    await utils.migrate();
    const openWorker = () => ForkedWorker.open(new URL("./graphile-worker.ts", import.meta.url), { url: database.url });
    return new PostgresRig({
      database,
      worker: await openWorker(),
      openWorker,
      recount: LEFT,
      keepsFinished: false,
      submit: async ({ n, holdMs, runAtMs, filler }) => {
        await utils.addJob("noop", { n, holdMs, filler }, runAtMs === undefined ? {} : { runAt: new Date(runAtMs) });
      },
      submitBatch: async (jobs) => {
        await utils.addJobs(jobs.map(specOf));
      },
      close: () => utils.release(),
    });
  },
};

function specOf({ n, holdMs, runAtMs, filler }: BenchJob) {
  return {
    identifier: "noop",
    payload: { n, holdMs, filler },
    ...(runAtMs !== undefined && { runAt: new Date(runAtMs) }),
  };
}
