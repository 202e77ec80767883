import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import type { Submission, SubmitOutcome } from "../../../ports/store.ts";
import type { AuditNote } from "../../../ports/store-audit.ts";
import type { DecidedRecord } from "../../../ports/store-ingest.ts";
import type { OpenRequest, RequestEnd, RequestJudge } from "../../../ports/store-requests.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import type { AuditTrail } from "../audit/audit-trail.ts";
import type { Connections, Session, Statement } from "../connection/connections.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";
import { takeIn } from "./take-in.ts";

const LIMITS = { count: 10, bytes: 10_000 };
const TOPIC = "0190e2a4-0000-4000-8000-000000000001";
const DROP_JOBS = "WITH e AS (DELETE FROM mainspring.executions) DELETE FROM mainspring.jobs";
const INBOX = "SELECT id::text FROM mainspring.event_inbox ORDER BY id";

describe("the take-in of jobs", () => {
  let server: TestServer;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server.stop());

  async function openScene() {
    const [database, runtime] = [await server.newStoreDatabase(), systemRuntime()];
    const store = await openTestStore(database, runtime);
    return { store, scene: await Scene.open({ store, runtime, close: () => store.close() }) };
  }

  it("leaves the event of each job once, and none of a portion from another position", async () => {
    const [database, runtime] = [await server.newStoreDatabase(), systemRuntime()];
    const store = await openTestStore(database, runtime, runtime.uuid(), { isTelling: true });
    const scene = await Scene.open({
      store,
      runtime,

      close: () => store.close(),
    });
    const judge = judgeOf(scene);
    await asked(database, `SELECT mainspring.mainspring_submit('{"target": {"handler": "echo"}}')`);
    const [request] = await store.requests.takeIn(LIMITS, judge);
    const record = (offset: number): DecidedRecord => {
      const job = scene.job();
      const decision = { idempotency: null, jobs: [job] };
      return { offset, id: job.jobId, decision, timestamp: 5, contentType: null, value: Buffer.from("{}") };
    };
    const [one, other] = [record(0), record(1)];
    const portion = { partition: 0, topic: TOPIC, from: 0 };
    await store.ingest.open(TOPIC, [0]);
    assert.equal((await store.ingest.takeIn({ ...portion, next: 2, records: [one, other] }, judge))?.length, 2);
    assert.equal(await store.ingest.takeIn({ ...portion, next: 1, records: [record(0)] }, judge), null);
    const rows = (await asked(database, INBOX)).map(([id]) => String(id));
    const jobs = (await asked(database, "SELECT id::text FROM mainspring.jobs")).map(([id]) => String(id));
    assert.deepEqual(jobs.sort(), [request?.id, one.id, other.id].sort());
    assert.equal(rows.length, 3);
    await store.close();
  });

  it("writes no job of a record that was taken in before, also when the row of that job is gone", async () => {
    const [database, runtime] = [await server.newStoreDatabase(), systemRuntime()];
    const store = await openTestStore(database, runtime);
    const scene = await Scene.open({
      store,
      runtime,

      close: () => store.close(),
    });
    const judge = judgeOf(scene);
    const job = scene.job();
    const decision = { idempotency: null, jobs: [job] };
    const record = { offset: 0, id: job.jobId, decision, timestamp: 5, contentType: null, value: Buffer.from("{}") };
    const portion = { partition: 0, topic: TOPIC, from: 0, next: 1, records: [record] };
    await store.ingest.open(TOPIC, [0]);
    assert.equal((await store.ingest.takeIn(portion, judge))?.length, 1);
    await asked(database, DROP_JOBS);
    assert.ok(await store.ingest.rewind({ partition: 0, topic: TOPIC, from: 1, to: 0 }));
    assert.deepEqual(await store.ingest.takeIn(portion, judge), []);
    assert.deepEqual(await asked(database, "SELECT id FROM mainspring.jobs"), []);
    await store.close();
  });

  it("sends the jobs of requests together with the commit", async () => {
    const { store, scene } = await openScene();
    assert.deepEqual(await sentBy(judgeOf(scene)), ["take", "COMMIT"]);
    await store.close();
  });

  it("writes the records of the audit log behind the jobs and before the commit", async () => {
    const { store, scene } = await openScene();
    const notesOf = (submissions: readonly Submission[]) => submissions.map(() => ({}) as AuditNote);
    assert.deepEqual(await sentBy({ ...judgeOf(scene), notesOf }), ["take", "record", "COMMIT"]);
    await store.close();
  });
});

function judgeOf(scene: Scene): RequestJudge {
  return {
    decide: async (requests: readonly OpenRequest[]) =>
      requests.map(({ id }) => ({ idempotency: null, jobs: [scene.job({ jobId: id })] })),
    conclude: (outcome: SubmitOutcome): RequestEnd => {
      assert.equal(outcome.kind, "ACCEPTED");
      const [job] = outcome.jobs;
      assert.ok(job);
      return { ...job, state: "TAKEN_IN" };
    },
  };
}

/**
 * Takes in one request by a session that answers a job's statement only when the next thing was sent.
 * @returns names of what is sent, in order
 */
async function sentBy(judge: RequestJudge): Promise<string[]> {
  const runtime = systemRuntime();
  const sent: string[] = [];
  const { promise: more, resolve: moreSent } = Promise.withResolvers<void>();
  const isAudited = judge.notesOf !== undefined;
  const run = async ({ name = "" }: Statement) => {
    sent.push(name);
    if (name === "take" && !isAudited) await more;
    return [];
  };
  const rows = [[runtime.uuid(), "default", runtime.now(), "{}", null, null]];
  const db = {
    transactionFrom: async (...[, , use, end]: Parameters<Connections["transactionFrom"]>) => {
      const session: Session = { connection: 0, run };
      const answer = await use(rows, session);
      await end(answer, session, async () => {
        sent.push("COMMIT");
        moreSent();
      });
      return answer;
    },
  } as unknown as Pick<Connections, "transactionFrom">;
  const trail: Pick<AuditTrail, "record"> = {
    record: async (_notes, _session, commit) => {
      sent.push("record");
      await commit();
    },
  };
  const parts = { levels: { raise: async () => undefined }, inbox: { begin: async () => false }, now: () => 5 };
  const taken = await takeIn(db, trail, LIMITS, judge, parts as unknown as Parameters<typeof takeIn>[4]);
  assert.equal(taken.length, 1);
  return sent;
}
