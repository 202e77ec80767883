import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import type pg from "pg";
import { accepted, Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import { StoreUnavailable } from "../../../ports/store.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import type { Connections, Session } from "../connection/connections.ts";
import { isOnce } from "../jobs/job-columns.ts";
import { asked, openTestStore, startTestServer, type TestServer, testConnections } from "../testing/databases.ts";
import { insertStatement } from "./insert.ts";
import { submitKeyed, submitSingle } from "./submit-keyed.ts";

let server: TestServer;
let connection: pg.ClientConfig;
let scene: Scene;
let db: Connections;
const runtime = systemRuntime();
before(async () => {
  server = await startTestServer();
  connection = await server.newDatabase();
  const store = await openTestStore(connection, runtime);
  scene = await Scene.open({ store, runtime, close: () => store.close() });
  db = testConnections(connection, runtime, "test");
});
after(async () => {
  await db.close();
  await scene.store.close();
  await server.stop();
});

it("takes a unique key after all that is let go of before its holder can be read", async () => {
  await scene.submitted({ uniqueKey: "u" });
  const job = scene.job({ uniqueKey: "u" });
  const outcomes = await submit(job, "read_unique", once("DELETE FROM unique_keys"));
  assert.deepEqual(outcomes, [accepted(job)]);
});

it("takes an idempotency key after all that is forgotten before its answer can be read", async () => {
  const idempotency = { tenant: TENANT, key: "k", requestHash: "h" };
  await scene.store.submit([{ idempotency, jobs: [scene.job()] }]);
  const job = scene.job();
  const outcomes = await submit(job, "read_keys", once("DELETE FROM idempotency_keys"), idempotency);
  assert.deepEqual(outcomes, [accepted(job)]);
});

it("gives up when that goes on, and has written nothing", async () => {
  await scene.submitted({ uniqueKey: "again" });
  const job = scene.job({ uniqueKey: "again" });
  const holder = runtime.uuid();
  const takeTurns = async () => {
    await asked(connection, "DELETE FROM unique_keys");
    return async () => {
      await asked(connection, "INSERT INTO unique_keys VALUES ($1, 'again', $2, $2)", [TENANT, holder]);
    };
  };
  await assert.rejects(submit(job, "read_unique", takeTurns), StoreUnavailable);
  assert.deepEqual(await scene.store.load([job.executionId]), []);
});

it("writes single jobs with keys in one statement, and answers repeats with what was written", async () => {
  const submission = (key: string, requestHash = "h") => ({
    idempotency: { tenant: TENANT, key, requestHash },
    jobs: [scene.job()] as const,
  });
  const before = submission("single-0");
  await scene.store.submit([before]);
  const [one, two, twin, other] = [
    submission("single-1"),
    submission("single-2"),
    submission("single-1"),
    submission("single-2", "another"),
  ];
  const asked = [one, submission("single-0"), two, twin, other];
  const outcomes = await submitSingle(db, asked, runtime.now(), async (session, jobs) => {
    await session.run(insertStatement(jobs.filter(isOnce)));
  });
  assert.deepEqual(
    outcomes.map((outcome) =>
      outcome.kind === "ACCEPTED" ? [outcome.jobs[0]?.jobId, outcome.replayed] : outcome.kind,
    ),
    [
      [one.jobs[0].jobId, false],
      [before.jobs[0].jobId, true],
      [two.jobs[0].jobId, false],
      [one.jobs[0].jobId, true],
      "KEY_REUSED",
    ],
  );
  const ids = asked.map(({ jobs: [job] }) => job.executionId);
  const rows = await scene.store.load(ids);
  assert.deepEqual(rows.map(({ id }) => id).sort(), [one, two].map(({ jobs: [job] }) => job.executionId).sort());
});

/** Submits, and runs a function just before the statement of that name, and optionally one just after it. */
function submit(
  job: ReturnType<Scene["job"]>,
  statement: string,
  happens: () => Promise<(() => Promise<void>) | undefined>,
  idempotency: { tenant: string; key: string; requestHash: string } | null = null,
) {
  const disturbed = (session: Session): Session => ({
    ...session,
    run: async (asked) => {
      const afterwards = asked.name === statement ? await happens() : undefined;
      const rows = await session.run(asked);
      await afterwards?.();
      return rows;
    },
  });
  const transaction: Connections["transaction"] = (purpose, use) =>
    db.transaction(purpose, (session) => use(disturbed(session)));
  return submitKeyed({ transaction }, [{ idempotency, jobs: [job] }], runtime.now(), async (session, jobs) => {
    await session.run(insertStatement(jobs.filter(isOnce)));
  });
}

function once(text: string) {
  let done = false;
  return async () => {
    if (!done) await asked(connection, text);
    done = true;
    return undefined;
  };
}
