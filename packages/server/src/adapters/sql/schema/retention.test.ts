import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { SUB_WORKFLOW_HANDLER } from "@mainspring/contract/limits";
import pg from "pg";
import { subWorkflowId } from "../../../domain/workflow/node-id.ts";
import { fire, recurring } from "../../../ports/conformance/recurring-scene.conformance.ts";
import { birth, nodeEnds, runEnds, started } from "../../../ports/conformance/runs-scene.conformance.ts";
import { Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { LogPart } from "../../../ports/store-logs.ts";
import { uuidSource } from "../../system/system-runtime.ts";
import { isLockTimeout } from "../connection/errors.ts";
import type { SqlStore } from "../sql-store.ts";
import { asked, hurriedRuntime, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

const DAY_MS = 86_400_000;
const BYTES = Buffer.from("1");
const RETENTION = { days: 30, deadDays: 90 };
const JANUARY = Date.UTC(2030, 0, 15);

function logged({ executionId }: NewJob): LogPart {
  return { executionId, attempt: 1, part: 1, lines: [{ at: 1, level: "info", line: "one" }], received: 1 };
}

describe("retention on PostgreSQL", () => {
  let server: TestServer;
  let database: pg.ClientConfig;
  let store: SqlStore;
  let scene: Scene;
  before(async () => {
    server = await startTestServer();
  });
  // Everything happens in January 2030; the tests then pass another day to `maintain`.
  beforeEach(async () => {
    database = await server.newDatabase();
    const runtime = hurriedRuntime(JANUARY);
    store = await openTestStore(database, runtime);
    scene = await Scene.open({ store, runtime, close: () => store.close() });
  });
  after(() => server.stop());

  it("drops a month whose executions are all over, and its jobs with it", async () => {
    const job = await scene.submitted();
    await finish(job, JANUARY);
    await store.maintain(Date.UTC(2030, 1, 10), RETENTION);
    assert.ok((await partitions()).includes("executions_2030_01"));
    assert.notEqual(await store.queries.getExecution(TENANT, job.executionId), null);
    await store.maintain(Date.UTC(2030, 2, 5), RETENTION);
    assert.deepEqual(
      (await partitions()).filter((name) => name.endsWith("2030_01")),
      [],
    );
    assert.equal(await store.queries.getExecution(TENANT, job.executionId), null);
    assert.equal(await store.queries.getJob(TENANT, job.jobId), null);
    await store.close();
  });

  it("keeps what lives, however old, and takes the rest of its month away", async () => {
    const [living, over] = [await scene.submitted(), await scene.submitted()];
    await finish(over, JANUARY);
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    assert.deepEqual(await known(living, over), [true, false]);
    assert.notEqual(await store.queries.getJob(TENANT, living.jobId), null);
    assert.equal(await store.queries.getJob(TENANT, over.jobId), null);
    await finish(living, Date.UTC(2030, 5, 1));
    await store.maintain(Date.UTC(2030, 6, 2), RETENTION);
    assert.deepEqual(await known(living), [false]);
    assert.ok(!(await partitions()).some((name) => name.endsWith("2030_01")));
    await store.close();
  });

  it("takes away what ended so many days ago, also while its month is not over", async () => {
    const [early, late] = [await scene.submitted(), await scene.submitted()];
    await finish(early, JANUARY);
    await finish(late, JANUARY + 3 * DAY_MS);
    await store.maintain(JANUARY + 2.5 * DAY_MS, { days: 1, deadDays: 90 });
    assert.deepEqual(await known(early, late), [false, true]);
    assert.equal(await store.queries.getJob(TENANT, early.jobId), null);
    assert.notEqual(await store.queries.getJob(TENANT, late.jobId), null);
    await store.maintain(JANUARY + 4.5 * DAY_MS, { days: 1, deadDays: 90 });
    assert.deepEqual(await known(late), [false]);
    await store.close();
  });

  it("goes on with all else where somebody reads a month that is to be dropped, and says so", async () => {
    const job = await scene.submitted();
    await finish(job, JANUARY);
    const [first, second] = [scene.job(), scene.job()];
    const submission = { idempotency: { tenant: TENANT, key: "k", requestHash: "h" }, jobs: [first] };
    await store.submit([submission]);
    const reader = new pg.Client(database);
    await reader.connect();
    await reader.query("BEGIN");
    await reader.query("SELECT count(*) FROM executions_2029_12");
    await assert.rejects(store.maintain(Date.UTC(2030, 6, 1), RETENTION), (error: Error) => isLockTimeout(error.cause));
    const [fresh] = await store.submit([{ ...submission, jobs: [second] }]);
    assert.equal(fresh?.kind === "ACCEPTED" && !fresh.replayed, true);
    assert.deepEqual(await known(job), [false]);
    await reader.query("COMMIT");
    await reader.end();
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    assert.ok(!(await partitions()).includes("executions_2029_12"));
    await store.close();
  });

  it("drops the log lines of a month with its executions, also if a node of the release before dropped these", async () => {
    const [living, over] = [await scene.submitted(), await scene.submitted()];
    await finish(over, JANUARY);
    await store.logs.keep([living, over].map(logged));
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    const kept = async ({ executionId }: NewJob) => (await store.logs.read(executionId, 1)).length;
    assert.deepEqual([await kept(living), await kept(over)], [1, 0]);
    await asked(database, "DROP TABLE mainspring.executions_2030_01");
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    assert.equal(await kept(living), 0);
    assert.ok(!(await partitions()).some((name) => name.endsWith("2030_01")));
    await store.close();
  });

  it("keeps log lines of executions whose month is older than the table of the lines", async () => {
    const job = await scene.submitted();
    await asked(database, "DROP TABLE mainspring.attempt_logs_2030_01");
    await store.close();
    const later = await openTestStore(database, hurriedRuntime(Date.UTC(2030, 5, 15)));
    await later.logs.keep([logged(job)]);
    assert.deepEqual(await later.logs.read(job.executionId, 1), [logged(job)]);
    await later.close();
  });

  it("makes the month of a clock that has leapt, when a statement needs it", async () => {
    let now = JANUARY;
    const leaping = { ...hurriedRuntime(JANUARY), now: () => now, uuid: uuidSource(() => now) };
    const other = await openTestStore(await server.newDatabase(), leaping);
    const later = await Scene.open({ store: other, runtime: leaping, close: () => other.close() });
    for (const days of [91, 210]) {
      now = JANUARY + days * DAY_MS;
      const submitted = [later.submitted(), later.submitted(), later.submitted()];
      for (const job of await Promise.all(submitted)) {
        assert.notEqual(await other.queries.getExecution(TENANT, job.executionId), null);
      }
    }
    const job = recurring(later);
    await other.submit([{ idempotency: null, jobs: [job] }]);
    now = JANUARY + 800 * DAY_MS;
    const [outcome] = await other.commit([later.tick(job.shard, { plans: [fire(later, job)] })]);
    assert.deepEqual([outcome?.status, outcome?.notCreated, outcome?.missedPlans], ["APPLIED", [], []]);
    await other.close();
  });

  it("keeps dead letters for longer", async () => {
    const [dead, over] = [await scene.submitted(), await scene.submitted()];
    await finish(dead, JANUARY, "DEAD");
    await finish(over, JANUARY);
    await store.maintain(JANUARY + 89 * DAY_MS, RETENTION);
    assert.deepEqual(await known(dead, over), [true, false]);
    assert.notEqual(await store.queries.getJob(TENANT, dead.jobId), null);
    await store.maintain(JANUARY + 91 * DAY_MS, RETENTION);
    assert.deepEqual(await known(dead), [false]);
    await store.close();
  });

  it("counts from the day an execution ended, not from the day it was submitted", async () => {
    const [early, late] = [await scene.submitted(), await scene.submitted()];
    await finish(early, JANUARY);
    await finish(late, Date.UTC(2030, 2, 1));
    await store.maintain(Date.UTC(2030, 2, 30), RETENTION);
    assert.deepEqual(await known(early, late), [false, true]);
    await store.maintain(Date.UTC(2030, 3, 2), RETENTION);
    assert.deepEqual(await known(late), [false]);
    await store.close();
  });

  it("drops a month with its runs and their graphs, and keeps the month of an open run", async () => {
    const [open, over] = [await started(scene), await started(scene)];
    for (const run of [open, over]) {
      const part = { run: run.executionId, spawner: 1, first: 4, nodes: 1, payloads: [{ node: 4, payload: BYTES }] };
      const spawn = { ...part, graph: BYTES, definitions: BYTES };
      const changes = [0, 1].map((node) =>
        nodeEnds(scene, run, node, { finishedAt: JANUARY, ...(node === 1 && { spawn }) }),
      );
      await scene.applied(run.shard, { changes });
    }
    await scene.applied(over.shard, { changes: [runEnds(scene, over, { finishedAt: JANUARY })] });
    const counts = async () => {
      const tables = ["executions", "jobs", "workflow_runs", "workflow_graphs", "workflow_payloads"];
      tables.push("workflow_parts", "workflow_part_payloads");
      const [row] = await asked(
        database,
        `SELECT ${tables.map((t) => `(SELECT count(*)::int4 FROM ${t})`).join(", ")}`,
      );
      return row;
    };
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    assert.deepEqual(await counts(), [4, 2, 2, 2, 2, 2, 2], "the row of a run goes after those of its nodes");
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    assert.deepEqual(await counts(), [3, 1, 1, 1, 1, 1, 1]);
    await scene.applied(open.shard, { changes: [runEnds(scene, open, { finishedAt: Date.UTC(2030, 5, 1) })] });
    await store.maintain(Date.UTC(2030, 6, 2), RETENTION);
    assert.deepEqual(await counts(), [0, 0, 0, 0, 0, 0, 0]);
    assert.ok(!(await partitions()).some((name) => name.endsWith("2030_01")));
    await store.close();
  });

  it("keeps the nodes of a sub-workflow for as long as the outermost run, and its graph for as long as the job", async () => {
    const jobId = scene.job({}).jobId;
    const id = subWorkflowId(jobId, 2);
    const none = { graph: Buffer.from("g"), definitions: Buffer.from("d"), output: null, payloads: [] };
    const run = await started(scene, { jobId, roots: [], nested: [{ id, nodes: 1, ...none }] });
    const child = birth(scene, run, 2, [], { handler: SUB_WORKFLOW_HANDLER });
    await scene.applied(run.shard, { births: [{ ...child, workflow: id }] });
    const inner = { ...run, executionId: child.row.id, rank: child.row.rank, deadline: child.row.dueAt };
    await scene.applied(run.shard, { births: [birth(scene, inner, 0)] });
    const changes = [
      nodeEnds(scene, inner, 0, { finishedAt: JANUARY }),
      runEnds(scene, inner, { wasState: "PENDING", finishedAt: JANUARY }),
    ];
    await scene.applied(run.shard, { changes });
    const counts = async () => {
      const [row] = await asked(
        database,
        "SELECT (SELECT count(*)::int4 FROM executions), (SELECT count(*)::int4 FROM workflow_runs), (SELECT count(*)::int4 FROM workflow_graphs)",
      );
      return row;
    };
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    assert.deepEqual(await counts(), [3, 2, 2], "the outermost run is open");
    await scene.applied(run.shard, { changes: [runEnds(scene, run, { finishedAt: JANUARY })] });
    for (let level = 0; level < 3; level++) await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    assert.deepEqual(await counts(), [0, 0, 0]);
    await store.close();
  });

  it("takes away thousands in small deletes", async () => {
    const jobs = Array.from({ length: 2_500 }, () => scene.job({ shard: 0 }));
    const living = scene.job();
    await store.submit([{ idempotency: null, jobs: [...jobs, living] }]);
    await scene.applied(0, { changes: jobs.map((job) => scene.succeeded(job)) });
    await store.maintain(Date.UTC(2030, 6, 1), RETENTION);
    const counts = await asked(database, "SELECT (SELECT count(*) FROM executions), (SELECT count(*) FROM jobs)");
    assert.deepEqual(counts, [["1", "1"]]);
    await store.close();
  });

  it("makes months ahead, so that ids of the coming months find their place", async () => {
    await store.maintain(Date.UTC(2031, 4, 1), RETENTION);
    const names = await partitions();
    for (const month of ["2031_04", "2031_05", "2031_06", "2031_07"]) {
      assert.ok(names.includes(`executions_${month}`) && names.includes(`jobs_${month}`));
    }
    await store.maintain(Date.UTC(2031, 4, 1), RETENTION);
    assert.deepEqual(await partitions(), names);
    await store.close();
  });

  it("forgets idempotency keys after a week", async () => {
    const submission = (job: NewJob) => ({ idempotency: { tenant: TENANT, key: "k", requestHash: "h" }, jobs: [job] });
    const [first, second] = [scene.job(), scene.job()];
    await store.submit([submission(first)]);
    await store.maintain(JANUARY + 7 * DAY_MS, RETENTION);
    const [replayed] = await store.submit([submission(second)]);
    assert.equal(replayed?.kind === "ACCEPTED" && replayed.replayed, true);
    await store.maintain(JANUARY + 7 * DAY_MS + 1, RETENTION);
    const [fresh] = await store.submit([submission(second)]);
    assert.equal(fresh?.kind === "ACCEPTED" && !fresh.replayed, true);
    await store.close();
  });

  async function finish(job: NewJob, finishedAt: number, state: "SUCCEEDED" | "DEAD" = "SUCCEEDED"): Promise<void> {
    await scene.applied(job.shard, { changes: [scene.succeeded(job, { state, finishedAt })] });
  }

  async function known(...jobs: NewJob[]): Promise<boolean[]> {
    const views = await Promise.all(jobs.map((job) => store.queries.getExecution(TENANT, job.executionId)));
    return views.map((view) => view !== null);
  }

  /** Months of executions. The audit log has months, too, and a retention of its own. */
  async function partitions(): Promise<string[]> {
    const rows = await asked(
      database,
      "SELECT relname::text FROM pg_class WHERE relispartition AND relkind = 'r' AND relname NOT LIKE 'audit%'",
    );
    return rows.map(([name]) => name as string).sort();
  }
});
