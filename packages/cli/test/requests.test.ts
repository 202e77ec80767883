import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, type JobRequestState, type JobRequestSummary, task, Worker } from "@mainspring/sdk";
import { submitIn, submitManyIn } from "@mainspring/sdk/sql";
import { until } from "@mainspring/server/testing";
import pg from "pg";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";
import { Commands } from "./testing/command.ts";

const clientOf = (url: string) => new Client({ url, retryForMs: 60_000, warn: () => undefined });

/** Number of the executions in the pool of the test. */
async function countOf(client: Client): Promise<number> {
  let count = 0;
  for await (const _ of client.listExecutions({ pool: "notes", limit: 1_000 })) count++;
  return count;
}

/** Number of requests beside a node of the release before. */
const REQUESTS = 300;

describe("requests of applications, beside a node of the release before", () => {
  let cluster: TestCluster;
  let newer: ClusterNode;
  let older: ClusterNode;
  let app: pg.Client;
  before(async () => {
    cluster = await TestCluster.open();
    [newer, older] = await Promise.all([cluster.node(), cluster.nodeOf(2)]);
    const { searchParams } = new URL(cluster.storeUrl);
    const login = Object.fromEntries(searchParams) as { host: string; port: string; user: string; password: string };
    app = new pg.Client({ ...login, port: Number(login.port), database: "postgres" });
    await app.connect();
  });
  after(async () => {
    await app?.end();
    await cluster?.close();
  });

  const { run, done, json, jsonLines } = new Commands(() => ({ MAINSPRING_URL: newer.httpUrl }));
  const decided = async (id: string): Promise<JobRequestState> => {
    for (;;) {
      const request = await json<JobRequestState>("requests", "show", id);
      if (request.state !== "ACCEPTED") return request;
    }
  };

  it("are shown on the command line: taken in, and refused with the problem", async () => {
    const id = await submitIn(app, { target: { handler: "echo" }, payload: 1 }, { idempotencyKey: "once" });
    assert.deepEqual((await decided(id)).jobId, id);
    const shown = await done("requests", "show", id);
    for (const line of [`request +${id}`, "state +TAKEN_IN", "source +SQL", `job +${id}`, "key +once"])
      assert.match(shown, new RegExp(`^${line}$`, "m"));
    const wrong = await submitIn(app, { target: { handler: "echo" }, priority: 11 as 9 });
    assert.equal((await decided(wrong)).state, "REFUSED");
    assert.match(await done("requests", "show", wrong), /^state +REFUSED$[^]*^problem +priority: [^]*^submitted +\{/m);
    assert.match(
      await done("requests", "list"),
      new RegExp(`^REQUEST +STATE .*\n${wrong} +REFUSED .*\n${id} +TAKEN_IN `),
    );
    const refused = await jsonLines<JobRequestSummary>("requests", "list", "--state", "refused");
    assert.deepEqual(
      refused.map(({ requestId }) => requestId),
      [wrong],
    );
    assert.match(await done("requests", "list", "--state", "accepted"), /^no requests$/m);
  });

  it("that do not exist, are no ids or have no such state end with an error", async () => {
    const none = await run(["requests", "show", "01890000-0000-7000-8000-000000000000"]);
    assert.deepEqual([none.code, /there is no such request/.test(none.stderr)], [1, true]);
    assert.equal((await run(["requests", "show", "seven"])).code, 2);
    assert.equal((await run(["requests", "list", "--state", "lost"])).code, 2);
    assert.equal((await run(["requests", "list", "--source", "lost"])).code, 2);
    assert.match(await done("requests", "list", "--source", "kafka"), /^no requests$/m);
    const taken = await run(["requests", "list", "--source", "kafka", "--state", "taken_in"]);
    assert.deepEqual([taken.code, /state: must be REFUSED with source=KAFKA/.test(taken.stderr)], [1, true]);
  });

  it("run once each, and stay after the node of this release is killed", async () => {
    const runs = new Map<string, number>();
    const note = task({
      name: "note",
      run: (_, { executionId }) => void runs.set(executionId, (runs.get(executionId) ?? 0) + 1),
    });
    const url = [newer, older].map(({ grpcAddress }) => grpcAddress);
    const worker = new Worker({ tasks: [note], url, pool: "notes", slots: 10, warn: () => undefined });
    await worker.start();
    const jobs = Array.from({ length: REQUESTS }, () => ({ target: { handler: "note", pool: "notes" } }));
    await app.query("BEGIN");
    const ids = await submitManyIn(app, jobs);
    await app.query("SAVEPOINT half");
    await submitManyIn(app, jobs);
    await app.query("ROLLBACK TO half");
    await app.query("COMMIT");
    const [ofNewer, ofOlder] = [newer, older].map(({ httpUrl }) => clientOf(httpUrl)) as [Client, Client];
    const executions: string[] = [];
    for (const id of ids) {
      await until(async () => (await ofNewer.requests.get(id)).state !== "ACCEPTED");
      executions.push(String((await ofNewer.requests.get(id)).executionId));
    }
    newer.command.signal("SIGKILL");
    await newer.command.done;
    const ended = await Promise.all(executions.map((id) => ofOlder.getExecution(id, { waitSec: 50 })));
    assert.deepEqual([...new Set(ended.map(({ state }) => state))], ["SUCCEEDED"]);
    assert.equal(await countOf(ofOlder), REQUESTS);
    await worker.stop();
    assert.deepEqual([runs.size, ...new Set(runs.values())], [REQUESTS, 1]);
  });
});
