import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type pg from "pg";
import { fire, firstPlan, recurring } from "../../../ports/conformance/recurring-scene.conformance.ts";
import { started } from "../../../ports/conformance/runs-scene.conformance.ts";
import { Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { ExecutionFilter, JobFilter, Listing, Page } from "../../../ports/store-queries.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";
import { listJobs } from "../jobs/job-lists.ts";
import { createPartition, monthOf } from "../schema/partitions.ts";
import type { SqlStore } from "../sql-store.ts";
import { asked, openTestStore, startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import { visitedRows } from "../testing/plans.ts";
import { countListed, listExecutions } from "./execution-lists.ts";
import { LOOKED_AT } from "./list-walk.ts";

const MONTHS = 14;
const JOBS = 3 * LOOKED_AT;
const PAGE: Page = { after: null, limit: 50 };

const EXECUTION_LISTS: ExecutionFilter[] = [
  ...(["PENDING", "RUNNING", "SUCCEEDED", "CANCELLED", "DEAD"] as const).map((state) => ({ state })),
  ...["common", "rare", "none"].map((handler) => ({ handler })),
  ...["common", "rare", "none"].map((pool) => ({ pool })),
  { handler: "common", pool: "none" },
  { handler: "common", state: "DEAD" },
  { since: Date.UTC(2100, 0) },
  { labels: ["customer=c7"] },
  { labels: ["size=large"], state: "DEAD" },
  { isOpen: true },
  { isOpen: true, handler: "common", labels: ["none"] },
  ...(["PENDING", "SUCCEEDED", "DEAD"] as const).map((state) => ({ state, error: "none" })),
];

const JOB_LISTS: JobFilter[] = [
  ...(["ACTIVE", "PAUSED", "FINISHED", "DELETED"] as const).map((state) => ({ state })),
  ...(["ONCE", "CRON", "INTERVAL"] as const).map((type) => ({ type })),
  ...["common", "rare", "none"].map((handler) => ({ handler })),
  ...["common", "rare", "none"].map((pool) => ({ pool })),
  ...["rare", "none"].map((name) => ({ name })),
  ...["size=large", "customer=c7", "customer=none", "none"].map((label) => ({ labels: [label] })),
  { labels: ["size=large", "customer=none"] },
  { handler: "common", state: "FINISHED" },
];

describe(`lists over ${MONTHS} months`, () => {
  let server: TestServer;
  let database: pg.ClientConfig;
  let store: SqlStore;
  let scene: Scene;
  let jobs: NewJob[];
  const runtime = systemRuntime();

  before(async () => {
    server = await startTestServer();
    database = await server.newDatabase();
    store = await openTestStore(database, runtime);
    scene = await Scene.open({ store, runtime, close: () => store.close() });
    for (let back = 2; back <= MONTHS - 3; back++) {
      const month = monthOf(runtime.now(), -back);
      for (const table of ["jobs", "executions"] as const)
        await asked(database, `DO $$ BEGIN ${createPartition(table, month)} END $$`);
    }
    jobs = Array.from({ length: JOBS }, (_, n) => scene.job(definitionOf(n)));
  });
  after(async () => {
    await store.close();
    await server.stop();
  });

  it("look at a bounded number of rows when statistics were taken while there were none", async () => {
    await asked(database, "ANALYZE");
    const plans = Array.from({ length: 20 }, () => recurring(scene));
    await store.submit([{ idempotency: null, jobs: [...jobs, ...plans] }]);
    await assertBounded();
    await scene.applied(0, { plans: plans.filter(({ shard }) => shard === 0).map(paused) });
  });

  it("look at a bounded number of rows when statistics were taken while everything was ready", async () => {
    await asked(database, "ANALYZE");
    for (let shard = 0; shard < 64; shard++) {
      const over = jobs.filter((job) => job.shard === shard);
      await scene.applied(shard, {
        changes: over.map((job) => scene.succeeded(job, jobs.indexOf(job) === 5 ? { state: "DEAD" } : {})),
      });
    }
    await assertBounded();
  });

  it("look at a bounded number of rows when statistics were taken while everything was over", async () => {
    await asked(database, "ANALYZE");
    await assertBounded();
    const { items } = await store.queries.listExecutions(TENANT, { state: "DEAD" }, PAGE);
    assert.deepEqual(
      items.map(({ executionId }) => executionId),
      [jobs[5]?.executionId],
    );
  });

  it("read one short statement for the newest page, and leave a count to the database", async () => {
    const db = testConnections(database, runtime);
    const statements: { visited: number; read: number }[] = [];
    const session: Connections["session"] = (purpose, use) =>
      db.session(purpose, (real) => use({ ...real, run: (statement) => noted(real, statement) }));
    const noted = async (real: Session, statement: Statement) => {
      const { rows: visited } = await visitedRows(real, statement.text, statement.values ?? []);
      const rows = await real.run(statement);
      statements.push({ visited, read: rows.length });
      return rows;
    };
    await listExecutions({ session } as Connections, TENANT, {}, PAGE);
    const [page, ...others] = statements.splice(0);
    assert.deepEqual([page?.read, others], [PAGE.limit + 1, []]);
    assert.ok(page !== undefined && page.visited <= 4 * PAGE.limit, `${page?.visited} rows`);
    const counted = await countListed({ session } as Connections, TENANT, {});
    assert.deepEqual(counted, { matching: LOOKED_AT, hasMore: true });
    for (const { read } of statements) assert.ok(read <= 1, `${read} rows`);
    await db.close();
  });

  it("show by their pages all that there is, each once", async () => {
    for (const filter of [{ handler: "rare" }, { pool: "rare" }, { labels: ["customer=c7"] }, { name: "rare" }]) {
      assert.deepEqual(
        (await all((page) => store.queries.listJobs(TENANT, filter, page))).length,
        5,
        JSON.stringify(filter),
      );
    }
    const once = await all((page) => store.queries.listJobs(TENANT, { state: "FINISHED" }, { ...page, limit: 1_000 }));
    assert.equal(new Set(once.map(({ jobId }) => jobId)).size, JOBS);
    const over = await all((page) =>
      store.queries.listExecutions(TENANT, { handler: "common" }, { ...page, limit: 1_000 }),
    );
    assert.equal(new Set(over.map(({ executionId }) => executionId)).size, JOBS - 5);
  });

  it("look at few rows beside the nodes of workflows", async () => {
    await started(scene);
    await asked(
      database,
      "UPDATE mainspring.executions SET node = 0, trigger = 6, settled = 3 WHERE get_byte(uuid_send(id), 15) > 9",
    );
    await asked(database, "ANALYZE");
    await assertBounded();
    const shown = await all((page) => store.queries.listExecutions(TENANT, { handler: "common" }, page));
    assert.ok(shown.length > 0 && shown.length < JOBS / 10);
  });

  /** Rare combinations are among the oldest. */
  function definitionOf(n: number) {
    const isRare = n < 5;
    const kind = isRare ? "rare" : "common";
    const labels = { customer: isRare ? "c7" : `d${n}`, size: n < JOBS / 4 ? "large" : "small" };
    return { handler: kind, pool: kind, labels, name: isRare ? "rare" : null };
  }

  function paused(job: ReturnType<typeof recurring>) {
    return fire(scene, job, { plan: { ...firstPlan(job), state: "PAUSED", nextFireAt: null } });
  }

  async function all<T>(read: (page: Page) => Promise<Listing<T>>): Promise<T[]> {
    const found: T[] = [];
    for (let after: string | null = null; ; ) {
      const { items, next } = await read({ after, limit: 50 });
      found.push(...items);
      if (next === null) return found;
      after = next;
    }
  }

  /** Checks every statement of every list, as PostgreSQL executes it. */
  async function assertBounded(): Promise<void> {
    const db = testConnections(database, runtime);
    for (const filter of [...EXECUTION_LISTS, { jobId: jobs[7]?.jobId as string }]) {
      const name = `executions ${JSON.stringify(filter)}`;
      await assertVisits(db, name, (spied) => listExecutions(spied, TENANT, filter, PAGE));
      await assertVisits(db, `count of ${name}`, (spied) => countListed(spied, TENANT, filter));
    }
    for (const filter of JOB_LISTS)
      await assertVisits(db, `jobs ${JSON.stringify(filter)}`, (spied) => listJobs(spied, TENANT, filter, PAGE));
    await db.close();
  }

  async function assertVisits(
    db: Connections,
    name: string,
    list: (db: Connections) => Promise<unknown>,
  ): Promise<void> {
    const explain = async (session: Session, statement: Statement) => {
      if (/^\s*(SELECT|WITH)/.test(statement.text)) {
        const { rows, scans } = await visitedRows(session, statement.text, statement.values ?? []);
        assert.ok(rows <= 2.1 * LOOKED_AT, `${name} looks at ${rows} rows: ${scans.join(", ")}\n${statement.text}`);
        assert.doesNotMatch(scans.join(), /Seq Scan of (jobs|executions)/, `${name}:\n${statement.text}`);
      }
      return session.run(statement);
    };
    const session: Connections["session"] = (purpose, use) =>
      db.session(purpose, (real) => use({ ...real, run: (statement) => explain(real, statement) }));
    await list({ session } as Connections);
  }
});
