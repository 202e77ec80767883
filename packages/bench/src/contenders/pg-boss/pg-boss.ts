import { ForkedWorker } from "../../worker/forked-worker.ts";
import type { BenchFlow, BenchJob, Contender } from "../contender.ts";
import { PostgresRig } from "../postgres-rig.ts";
import { BATCH, type BossSettings, newBoss } from "./pg-boss-types.ts";

const RECOUNT = `SELECT count(*) FILTER (WHERE state = 'completed') AS finished,
  count(*) FILTER (WHERE state <> 'completed' AND start_after <= now()) AS unfinished FROM pgboss.job`;

/** Shortest heartbeat that it accepts, in seconds. */
const HEARTBEAT_SEC = 10;

/** Shortest interval of polls for ready nodes of workflows that it accepts, in seconds. Its default is 5. */
const FLOW_INTERVAL_SEC = 1;

const USUAL_WORKERS = 2;

/** @param workers number of loops that fetch and run batches side by side */
export function pgBoss(workers: number): Contender {
  return {
    name: `pg-boss-${workers}`,
    title: `pg-boss ×${workers}`,
    settings: `batchSize ${BATCH} × ${workers}, notify, burstWhenBatchFull, polling every 0.5 s, and every ${FLOW_INTERVAL_SEC} s for nodes of workflows (default: 5 s); keeps finished jobs`,
    isPeer: true,
    isVariant: workers !== USUAL_WORKERS,
    hasCapabilities: false,
    flows: { areTrees: false, arePolled: true },
    open: async (stage, { connections = 16, comesBack = false, hasFlows = false } = {}) => {
      const database = await (await stage.postgres()).database();
      const boss = await newBoss({
        connectionString: database.url,
        max: connections,
        // Calls wait for a connection without a limit, because this wait is what is measured.
        connectionTimeoutMillis: 0,
        supervise: false,
      });
      await boss.start();
      await boss.createQueue("noop", { notify: true, ...(comesBack && { heartbeatSeconds: HEARTBEAT_SEC }) });
      const openWorker = () =>
        ForkedWorker.open(new URL("./pg-boss-worker.ts", import.meta.url), {
          url: database.url,
          workers,
          ...(hasFlows && { flowIntervalSeconds: FLOW_INTERVAL_SEC }),
        } satisfies BossSettings);
      return new PostgresRig({
        database,
        worker: await openWorker(),
        openWorker,
        recount: RECOUNT,
        keepsFinished: true,
        submit: async (job) => {
          const { data, ...options } = insertOf(job);
          if ((await boss.send("noop", data, options)) === null) throw new Error("pg-boss refused a job");
        },
        submitBatch: async (jobs) => {
          await boss.insert("noop", jobs.map(insertOf));
        },
        submitFlow: async (flow) => {
          await boss.flow(flowOf(flow));
        },
        close: () => boss.stop({ graceful: false }),
      });
    },
  };
}

function insertOf({ n, holdMs, runAtMs, filler }: BenchJob) {
  return {
    data: holdMs === undefined && filler === undefined ? { n } : { n, holdMs, filler },
    ...(runAtMs !== undefined && { startAfter: new Date(runAtMs) }),
  };
}

function flowOf({ firstN, nodes }: BenchFlow) {
  return nodes.map((waitsFor, index) => ({
    ref: String(index),
    name: "noop",
    data: { n: firstN + index },
    dependsOn: waitsFor.map(String),
  }));
}
