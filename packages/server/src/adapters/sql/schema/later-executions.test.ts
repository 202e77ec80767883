import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import type pg from "pg";
import { Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NodeProfile } from "../../../ports/leases.ts";
import type { NewJob } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { NEWEST } from "../jobs/job-queries.ts";
import { OPEN } from "../jobs/locked-job.ts";
import type { SqlStore } from "../sql-store.ts";
import {
  asked,
  hurriedRuntime,
  openTestStore,
  silent,
  startTestServer,
  type TestServer,
  testConnections,
} from "../testing/databases.ts";
import { visitedRows } from "../testing/plans.ts";
import { copyStore } from "./copy-store.ts";
import { applyMigrations } from "./migrate.ts";
import { createPartition, monthOf, monthsAround } from "./partitions.ts";

/** Last migration of the release before. */
const BEFORE = 12;
const JOBS = 2_000;
const RETENTION = { days: 30, deadDays: 90 };
/** Lets the day pass for which upkeep waits after the migration. */
const DAY_OVER = "UPDATE mainspring.schema_migrations SET applied_at = applied_at - interval '2 days'";

describe("the index of later executions", () => {
  const runtime = systemRuntime();
  let server: TestServer;
  let database: pg.ClientConfig;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server.stop());

  describe("in a store of the release before", () => {
    let store: SqlStore;
    let scene: Scene;
    let old: NewJob[];

    beforeEach(async () => {
      database = await server.newDatabase();
      const db = testConnections(database, runtime);
      await db.transaction("maintain", (session) => applyMigrations(session, "mainspring", BEFORE));
      await db.close();
      for (const table of ["jobs", "executions"] as const) {
        for (const month of monthsAround(runtime.now()))
          await asked(
            database,
            `DO $$ BEGIN SET LOCAL search_path = mainspring; ${createPartition(table, month)} END $$`,
          );
      }
      store = await openTestStore(database, runtime, runtime.uuid(), { isShared: true });
      scene = await Scene.open({ store, runtime, close: () => store.close() });
      old = Array.from({ length: JOBS }, () => scene.job({ executionId: runtime.uuid() }));
      await store.submit([{ idempotency: null, jobs: old }]);
    });

    it("takes the place of the index of all executions, once every node does without that one", async () => {
      const other = { ...profile(), incarnation: "of the release before", level: 2 };
      await store.leases.renew(profile(), 60_000);
      await store.leases.renew(other, 60_000);
      await store.maintain(runtime.now(), RETENTION);
      assert.deepEqual(await indexes(), { former: true, later: true }, "a node of level 2 lives");
      await asked(database, DAY_OVER);
      await store.maintain(runtime.now(), RETENTION);
      assert.deepEqual(await indexes(), { former: true, later: true }, "a node of level 2 lives after a day");
      await store.leases.release(other.incarnation);
      await store.maintain(runtime.now(), RETENTION);
      assert.deepEqual(await indexes(), { former: false, later: true });
      await store.close();
    });

    it("takes no place within a day of the upgrade, nor where the leases of the nodes are unknown", async () => {
      await store.leases.renew(profile(), 60_000);
      await store.maintain(runtime.now(), RETENTION);
      assert.deepEqual(await indexes(), { former: true, later: true }, "the upgrade was just now");
      await asked(database, DAY_OVER);
      await asked(database, "DELETE FROM mainspring.nodes");
      await store.maintain(runtime.now(), RETENTION);
      assert.deepEqual(await indexes(), { former: true, later: true }, "no lease is there");
      await store.close();
    });

    it("waits for a month that another session reads, and upkeep does all else", async () => {
      await store.leases.renew(profile(), 60_000);
      await asked(database, DAY_OVER);
      const reader = testConnections(database, runtime);
      await reader.transaction("query", async (session) => {
        await session.run({ text: "SELECT count(*) FROM executions" });
        await assert.rejects(store.maintain(runtime.now(), RETENTION), /lock/);
      });
      assert.deepEqual(await indexes(), { former: true, later: true });
      await store.maintain(runtime.now(), RETENTION);
      assert.deepEqual(await indexes(), { former: false, later: true });
      await reader.close();
      await store.close();
    });

    it("and its successor answer for rows of both releases, and of nodes that write as before later on", async () => {
      const fresh = Array.from({ length: JOBS }, () => scene.job());
      await store.submit([{ idempotency: null, jobs: fresh }]);
      const jobs = [old[3], old[JOBS - 1], fresh[3], fresh[JOBS - 1]] as NewJob[];
      await assertFound(jobs);
      await store.leases.renew(profile(), 60_000);
      await asked(database, DAY_OVER);
      await store.maintain(runtime.now(), RETENTION);
      assert.deepEqual(await indexes(), { former: false, later: true });
      const late = Array.from({ length: JOBS }, () => scene.job({ executionId: runtime.uuid() }));
      await store.submit([{ idempotency: null, jobs: late }]);
      await assertFound([...jobs, late[0] as NewJob]);
      await asked(database, "VACUUM ANALYZE");
      await assertIndexed([...jobs, late[0] as NewJob]);
      assert.equal(await entries(), 2 * JOBS, "the index has what does not follow from the job's id");
      await store.close();
    });

    it("is alone in a copy of the store, and has the same executions", async () => {
      await store.close();
      const from = database;
      database = await server.newDatabase();
      const signal = new AbortController().signal;
      const where = { from, to: database, schema: null, incarnation: "a copy", signal, onTable: () => undefined };
      await copyStore({ ...where, runtime: hurriedRuntime(), log: silent });
      store = await openTestStore(database, runtime);
      assert.deepEqual(await indexes(), { former: false, later: true });
      await assertFound([old[0], old[JOBS - 1]] as NewJob[]);
      await asked(database, "VACUUM ANALYZE");
      await assertIndexed([old[0], old[JOBS - 1]] as NewJob[]);
      await store.close();
    });

    async function assertFound(jobs: readonly NewJob[]): Promise<void> {
      const page = { after: null, limit: 10 };
      for (const { jobId, executionId } of jobs) {
        const view = await store.queries.getJob(TENANT, jobId);
        const listed = await store.queries.listExecutions(TENANT, { jobId }, page);
        const active = await store.queries.listJobs(
          TENANT,
          { state: "ACTIVE", ids: { first: jobId, last: jobId } },
          page,
        );
        assert.deepEqual(
          [view?.state, view?.latestExecutions[0]?.executionId, listed.items[0]?.executionId, active.items[0]?.jobId],
          ["ACTIVE", executionId, executionId, jobId],
        );
      }
    }
  });

  describe("in a new store", () => {
    let store: SqlStore;
    let scene: Scene;
    before(async () => {
      database = await server.newDatabase();
      store = await openTestStore(database, runtime);
      scene = await Scene.open({ store, runtime, close: () => store.close() });
      await asked(
        database,
        `DO $$ BEGIN SET LOCAL search_path = mainspring;
        ${createPartition("executions", monthOf(runtime.now(), -2))} END $$`,
      );
    });
    after(() => store.close());

    it("is there from the start, and has no first executions", async () => {
      assert.deepEqual(await indexes(), { former: false, later: true });
      const jobs = Array.from({ length: 10 * JOBS }, () => scene.job());
      await store.submit([{ idempotency: null, jobs }]);
      await scene.applied(0, { changes: jobs.filter(({ shard }) => shard === 0).map((job) => scene.succeeded(job)) });
      assert.equal(await entries(), 0);
      await asked(database, "VACUUM ANALYZE");
      await assertIndexed([jobs[0], jobs[JOBS], jobs.at(-1)] as NewJob[]);
      const [job] = jobs.filter(({ shard }) => shard === 0) as [NewJob];
      const again = scene.job({ ...job.definition, jobId: job.jobId, executionId: runtime.uuid(), shard: 0 });
      assert.deepEqual(await store.jobs.run({ ...again, retryOf: job.executionId, jobVersion: 1 }), {
        kind: "ACCEPTED",
      });
      assert.equal(await entries(), 1);
    });

    it("lets retention keep the jobs of its executions, and no others", async () => {
      const [ended, ...living] = [await scene.submitted(), await scene.submitted(), await scene.submitted()];
      const long = runtime.now() + 40 * 86_400_000;
      await scene.applied(ended.shard, { changes: [scene.succeeded(ended)] });
      await store.maintain(long, RETENTION);
      const known = [ended, ...living].map(({ jobId }) => store.queries.getJob(TENANT, jobId));
      assert.deepEqual(
        (await Promise.all(known)).map((job) => job !== null),
        [false, true, true],
      );
    });
  });

  /** Whether the index of all executions of a job is there, and whether all months have their part of its successor. */
  async function indexes() {
    const text = `SELECT to_regclass('mainspring.executions_job') IS NOT NULL, indisvalid FROM pg_index
      WHERE indexrelid = 'mainspring.executions_later'::regclass`;
    const [[former, later] = []] = await asked(database, text);
    return { former, later };
  }

  /** Number of entries of the index. */
  async function entries(): Promise<number> {
    await asked(database, "ANALYZE");
    const text = `SELECT coalesce(sum(c.reltuples), 0)::int4 FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = 'mainspring.executions_later'::regclass`;
    return (await asked(database, text))[0]?.[0] as number;
  }

  /** Checks that reads by job visit its rows only. */
  async function assertIndexed(jobs: readonly NewJob[]): Promise<void> {
    const db = testConnections(database, runtime);
    for (const { jobId } of jobs) {
      for (const [purpose, text, values] of [
        ["query", NEWEST, [jobId, TENANT]],
        ["submit", OPEN, [jobId]],
      ] as const) {
        const { rows, scans } = await db.session(purpose, (session) => visitedRows(session, text, values));
        assert.ok(rows <= 1, `${rows} rows by ${scans.join(", ")}`);
      }
    }
    await db.close();
  }
});

function profile(): NodeProfile {
  return {
    ...{ incarnation: "me", name: "a:8081", address: "a:8081", roles: ["api", "scheduler", "gateway"] },
    ...{ version: "1.0.0", level: 3, startedAt: 0, hasSecret: false },
  };
}
