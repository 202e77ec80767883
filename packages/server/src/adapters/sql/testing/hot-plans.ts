import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type pg from "pg";
import { fire, firstPlan, recurring } from "../../../ports/conformance/recurring-scene.conformance.ts";
import { ALL_SHARDS, Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob, NewRecurringJob } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import {
  ASSIGNING_TEXT,
  CHANGING_TEXT,
  COMMIT_TEXT,
  commitStatement,
  DELIVERING_TEXT,
  PLANNING_TEXT,
  REPLACING_TEXT,
  RUNNING_TEXT,
  SPAWNING_TEXT,
  STEPPING_TEXT,
  TELLING_TEXTS,
  WHOLE_RUNNING_TEXT,
  WHOLE_TEXT,
} from "../commit/commit-statement.ts";
import { POLL, POLL_TELLING } from "../commit/poll.ts";
import { READ_HELD } from "../commit/recover.ts";
import { READ_STEPS } from "../commit/step-records.ts";
import type { Purpose } from "../connection/purposes.ts";
import { withEvents } from "../events/inbox.ts";
import * as reads from "../executions/reads.ts";
import { READ_SIGNALS } from "../executions/signals.ts";
import { ADVANCE, ENTRIES, TAKE_FRESH, TAKE_FRESH_TELLING } from "../ingest/take-in.ts";
import { OPEN, OPEN_OF_RECURRING } from "../jobs/locked-job.ts";
import { ACTIVE } from "../jobs/named-jobs.ts";
import * as recurrences from "../recurring/recurrences.ts";
import { CLAIM_REQUESTS, END_REQUESTS, TAKE } from "../requests/take-in.ts";
import { createPartition, monthOf } from "../schema/partitions.ts";
import type { SqlStore } from "../sql-store.ts";
import { READ_PARTS } from "../workflows/parts.ts";
import { COUNT_RESULTS } from "../workflows/retry-run.ts";
import {
  KEYED_RUNS,
  OPEN_RUNS,
  READ_ENDS,
  READ_GRAPHS,
  READ_ITEMS,
  READ_KEPT,
  READ_MAP_COUNTS,
  READ_NODES,
  READ_ORIGINS,
  READ_RESULTS,
  READ_RUNS,
} from "../workflows/run-reads.ts";
import { asked, openTestStore, type TestServer, testConnections } from "./databases.ts";
import { type Access, executedPlan, preparedPlan } from "./plans.ts";

const MONTHS = 14;

/** Requests of transactions that wait, and the rows that records of Kafka leave: few positions and many records. */
const REQUEST = '{"target": {"handler": "echo"}}';
const ACCEPT_REQUESTS = `SELECT mainspring.mainspring_submit_batch(jsonb_agg(r)) FROM
  (SELECT '${REQUEST}'::jsonb AS r FROM generate_series(1, 5000)) rows`;
const FILL_INGEST = `
  WITH p AS (INSERT INTO mainspring.ingest_positions SELECT n, gen_random_uuid(), 0, 0, 0 FROM generate_series(0, 11) n RETURNING *)
  INSERT INTO mainspring.ingest_records SELECT partition, topic, n, 0, '' FROM p, generate_series(1, 500) n`;

type HotStatement = [name: string, purpose: Purpose, text: string, index: RegExp, plans?: string];

/**
 * Statements of the hot path, each with the index by which it must find its executions, and the index for its plans.
 */
const HOT: HotStatement[] = [
  ["commit", "commit", COMMIT_TEXT, /_pkey$/],
  ["commit_assigning", "commit", ASSIGNING_TEXT, /_pkey$/],
  ["commit_changing", "commit", CHANGING_TEXT, /_pkey$/],
  ["commit_replacing", "commit", REPLACING_TEXT, /_pkey$/],
  ["commit_planning", "commit", PLANNING_TEXT, /_pkey$/, "plans_pkey"],
  ["commit_stepping", "commit", STEPPING_TEXT, /_pkey$/],
  ["commit_whole", "commit", WHOLE_TEXT, /_pkey$/, "plans_pkey"],
  ["commit_running", "commit", RUNNING_TEXT, /_pkey$/],
  ["commit_whole_running", "commit", WHOLE_RUNNING_TEXT, /_pkey$/, "plans_pkey"],
  ["commit_spawning", "commit", SPAWNING_TEXT, /_pkey$/, "plans_pkey"],
  ["commit_delivering", "commit", DELIVERING_TEXT, /_pkey$/, "plans_pkey"],
  ...TELLING_TEXTS.map(([name, text]): HotStatement => {
    const hasPlans = /_(planning|whole|spawning|delivering)_/.test(name);
    return [name, "commit", text, /_pkey$/, ...(hasPlans ? ["plans_pkey"] : [])] as HotStatement;
  }),
  ["look_out_telling", "read", POLL_TELLING, /\d_(due_at|lane_rank)_id_idx$/, "plans_due"],
  ["runs", "read", READ_RUNS, /_pkey$/],
  ["graphs", "read", READ_GRAPHS, /_pkey$/],
  ["results", "read", READ_RESULTS, /_pkey$/],
  ["kept", "read", READ_KEPT, /_pkey$/],
  ["parts", "read", READ_PARTS, /_pkey$/],
  ["origins", "read", READ_ORIGINS, /_pkey$/],
  ["nodes", "read", READ_NODES, /_job_id_scheduled_at_idx$/],
  ["items", "read", READ_ITEMS, /_job_id_scheduled_at_idx$/],
  ["map_counts", "read", READ_MAP_COUNTS, /_pkey$/],
  ["ends", "read", READ_ENDS, /_pkey$/],
  ["count_results", "submit", COUNT_RESULTS, /_job_id_scheduled_at_idx$/],
  ["open_runs", "read", OPEN_RUNS, /\d_due_at_id_idx1?$/],
  ["keyed_runs", "read", KEYED_RUNS, /\d_due_at_id_idx1?$/],
  ["steps", "read", READ_STEPS, /_pkey$/],
  ["signals", "read", READ_SIGNALS, /_pkey$/],
  ["load", "read", reads.LOAD, /_pkey$/],
  ["payloads", "read", reads.READ_PAYLOADS, /_pkey$/],
  ["ready", "read", reads.READ_READY, /_lane_rank_id_idx$/],
  ["lanes", "read", reads.READ_LANES, /_lane_rank_id_idx$/],
  ["waiting", "read", reads.READ_WAITING, /\d_due_at_id_idx$/],
  ["waiting_flows", "read", reads.WAITING_FLOWS, /_tenant_pool_due_at_id_idx$/],
  ["flows", "read", reads.READ_FLOWS, /_tenant_pool_due_at_id_idx$/],
  ["look_out", "read", POLL, /\d_(due_at|lane_rank)_id_idx$/, "plans_due"],
  ["held", "read", READ_HELD, /_shard_idx$/],
  ["due", "read", recurrences.READ_DUE, /_pkey$/, "plans_due"],
  ["due_flows", "read", recurrences.DUE_FLOWS, /./, "plans_flow"],
  ["flows_of_plans", "read", recurrences.READ_DUE_FLOWS, /_pkey$/, "plans_flow"],
  ["awaiting", "read", recurrences.READ_AWAITING, /_pkey$/, "plans_awaiting"],
  ["other_zones", "read", recurrences.READ_OTHER_ZONES, /_pkey$/, "plans_pkey"],
  ["load_recurrences", "read", recurrences.LOAD_RECURRENCES, /_pkey$/, "plans_pkey"],
  ["open", "read", recurrences.READ_OPEN, /_pkey$/],
  ["open_executions", "submit", OPEN, /_(pkey|job_id_scheduled_at_idx)$/],
  ["active_of_name", "submit", ACTIVE, /_(pkey|job_id_scheduled_at_idx)$/],
  ["open_of_recurring", "submit", OPEN_OF_RECURRING, /_job_id_idx$/],
  ["fired", "read", recurrences.READ_FIRED, /_job_id_scheduled_at_idx$/],
];

/** Statements that take in requests of transactions and of Kafka, each with the index by which it must find the rows of its table. */
const INTAKE: [name: string, purpose: Purpose, text: string, index: RegExp][] = [
  ["claim_requests", "submit", CLAIM_REQUESTS, /^job_requests_open$/],
  ["end_requests", "submit", END_REQUESTS, /^job_requests_pkey$/],
  ["take", "submit", TAKE, /^job_requests_pkey$/],
  [
    "take_telling",
    "submit",
    withEvents({ text: TAKE, values: Array.from({ length: 21 }) }, []).text,
    /^job_requests_pkey$/,
  ],
  ["take_fresh", "submit", TAKE_FRESH, /^ingest_positions_pkey$/],
  ["take_fresh_telling", "submit", TAKE_FRESH_TELLING, /^ingest_positions_pkey$/],
  ["advance_ingest", "submit", ADVANCE, /^ingest_positions_pkey$/],
  ["read_ingested", "submit", ENTRIES, /^ingest_records_pkey$/],
];

/** Tests which indexes the hot path uses, on a server of some version, with many months and misleading statistics. */
export function testHotPlans(name: string, start: () => Promise<TestServer>): void {
  describe(`plans on ${name} with ${MONTHS} months`, () => hotPlans(start));
}

function hotPlans(start: () => Promise<TestServer>): void {
  let server: TestServer;
  let database: pg.ClientConfig;
  let store: SqlStore;
  let scene: Scene;
  let jobs: NewJob[];
  let plans: NewRecurringJob[];
  const runtime = systemRuntime();

  before(async () => {
    server = await start();
    database = await server.newDatabase();
    store = await openTestStore(database, runtime);
    scene = await Scene.open({ store, runtime, close: () => store.close() });
    await store.maintain(runtime.now(), { days: 30, deadDays: 90 });
    for (let back = 2; back <= MONTHS - 3; back++) {
      const month = monthOf(runtime.now(), -back);
      await asked(
        database,
        `DO $$ BEGIN ${createPartition("jobs", month)} ${createPartition("executions", month)} END $$`,
      );
    }
    jobs = Array.from({ length: 20_000 }, () => scene.job());
    plans = Array.from({ length: 5_000 }, () => recurring(scene));
  });
  after(async () => {
    await store.close();
    await server.stop();
  });

  it("are by the right index on empty tables", async () => {
    await asked(database, "ANALYZE");
    await assertHotPlans();
  });

  it("are by the right index when statistics were taken while everything was ready", async () => {
    await store.submit([{ idempotency: null, jobs: [...jobs, ...plans] }]);
    await asked(database, ACCEPT_REQUESTS);
    await asked(database, FILL_INGEST);
    await asked(database, "ANALYZE");
    await assertHotPlans();
  });

  it("are by the right index when statistics were taken while nothing was", async () => {
    await store.commit(
      ALL_SHARDS.map((shard) =>
        scene.tick(shard, {
          changes: jobs.filter((job) => job.shard === shard).map((job) => scene.succeeded(job)),
          plans: plans.filter((job) => job.shard === shard).map(over),
        }),
      ),
    );
    await asked(database, "ANALYZE");
    await asked(database, "VACUUM");
    await assertHotPlans();
  });

  it("visit one month where the ids are of one month", async () => {
    const now = runtime.now();
    const fresh = Array.from({ length: 10 }, () => scene.job({ shard: 0 }));
    await store.submit([{ idempotency: null, jobs: fresh }]);
    const tick = scene.tick(0, {
      changes: fresh.slice(5).map((job) => scene.succeeded(job)),
      expected: fresh.slice(0, 5).map((job) => ({ id: job.executionId, attempt: 0 })),
    });
    const { text, values = [] } = commitStatement([tick], now);
    const db = testConnections(database, runtime);
    const plan = await db.session("commit", (session) => executedPlan(session, text, values));
    await db.close();
    const visited = plan.filter(({ table, loops }) => table.startsWith("executions_") && loops > 0);
    const month = `executions_${monthOf(now).name}`;
    assert.deepEqual([...new Set(visited.map(({ table }) => table))], [month]);
    assert.deepEqual(
      visited.map(({ loops }) => loops),
      [5, 5],
    );
  });

  it("cannot be by the index of flows where a read goes by due times: PostgreSQL would scan and sort a whole herd", async () => {
    const db = testConnections(database, runtime);
    const plans: Access[] = [];
    const planWithout = db.transaction("read", async (session) => {
      // Without the indexes by due time, an index of flows that fits would be the best one.
      await session.run({ text: "DROP INDEX executions_waiting, plans_due" });
      for (const [name, text] of [
        ["waiting", reads.READ_WAITING],
        ["due", recurrences.READ_DUE],
        ["poll", POLL],
      ] as const) {
        plans.push(...(await preparedPlan(session, `plan_without_${name}`, text)));
      }
      throw new Error("so that the indexes stay");
    });
    await assert.rejects(planWithout, /so that the indexes stay/);
    await db.close();
    assert.deepEqual(
      plans.filter(({ index }) => /_tenant_pool_|plans_flow/.test(index ?? "")),
      [],
    );
  });

  /** A recurring job with no further instants. */
  function over(job: NewRecurringJob) {
    return fire(scene, job, { plan: { ...firstPlan(job), state: "FINISHED", nextFireAt: null } });
  }

  /** Checks the plans on connections of its own, because connections keep the plans of earlier tests. */
  async function assertHotPlans(): Promise<void> {
    const db = testConnections(database, runtime);
    for (const [name, purpose, text, index, plansIndex] of HOT) {
      const plan = await db.session(purpose, (session) => preparedPlan(session, `plan_of_${name}`, text));
      const executions = plan.filter(({ table }) => table.startsWith("executions_"));
      const months = text.includes("executions") ? MONTHS : 0;
      assert.equal(new Set(executions.map(({ table }) => table)).size, months, `${name} reads every month`);
      for (const access of executions) assertIndexed(name, access, index);
      for (const access of plan) assertIndexed(name, access, /./);
      const indexes = plan.filter(({ table }) => table === "plans").map((access) => access.index);
      assert.deepEqual([...new Set(indexes)], plansIndex === undefined ? [] : [plansIndex], name);
      const jobMonths = plan.filter(({ table }) => table.startsWith("jobs_2"));
      if (plansIndex !== undefined) assert.deepEqual(jobMonths, [], `${name} looks for recurring jobs in months`);
    }
    for (const [name, purpose, text, index] of INTAKE) {
      const plan = await db.session(purpose, (session) => preparedPlan(session, `plan_of_${name}`, text));
      assert.ok(plan.length > 0, `${name} reads a table`);
      for (const access of plan) assertIndexed(name, access, index);
    }
    await db.close();
  }

  function assertIndexed(name: string, { how, table, index }: Access, wanted: RegExp): void {
    assert.match(how, /^Index (Only )?Scan$/, `${name}: ${how} of ${table}`);
    assert.match(index ?? "", wanted, `${name}: ${table} by ${index}`);
  }
}
