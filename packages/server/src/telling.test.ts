import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import type pg from "pg";
import { asked, startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import type { LifecycleEvent } from "./domain/lifecycle-event.ts";
import { type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";
import { eventsOfRow } from "./ports/event-blocks.ts";
import { Telling } from "./telling.ts";

const ROWS = "SELECT events, missed FROM mainspring.outbox ORDER BY shard, epoch, seq";

describe("a node that writes lifecycle events", () => {
  let server: TestServer;
  let database: pg.ClientConfig;
  let node: RunningNode;
  before(async () => {
    server = await startTestServer();
    database = await server.newDatabase();
    const settings = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" };
    node = await startNode(loadConfig({ ...settings, MAINSPRING_STORE: storeUrl(database), MAINSPRING_EVENTS: "api" }));
  });
  after(async () => {
    await node.stop();
    await server.stop();
  });

  const eventsOf = async (id: string): Promise<LifecycleEvent[]> => {
    const rows = (await asked(database, ROWS)) as [Buffer, null][];
    const none = { missed: new Set<string>(), held: new Set<string>(), unrecorded: new Set<string>() };
    return rows.flatMap(([bytes]) => eventsOfRow(bytes, none)).filter(({ executionId }) => executionId === id);
  };

  it("tells the whole life of an execution, and keeps older programs out of the store from then on", async () => {
    const client = new Client({ url: node.httpUrl });
    const { executionId, jobId } = await client.submit({ target: { handler: "echo" }, payload: { n: 1 } });
    assert.equal((await client.getExecution(executionId, { waitSec: 30 })).state, "SUCCEEDED");
    let events: LifecycleEvent[] = [];
    // The owner takes the event of the submit out of the inbox with its next sweep.
    while (events.length < 4) events = await eventsOf(executionId);
    const kinds = events.map(({ kind }) => kind).sort();
    assert.deepEqual(kinds, ["JobAssigned", "JobCompleted", "JobCreated", "JobStarted"]);
    for (const event of events) assert.deepEqual([event.jobId, event.handler], [jobId, "echo"]);
    const completed = events.find(({ kind }) => kind === "JobCompleted");
    assert.equal(completed?.attempt, 1);
    assert.ok((completed.startedAt ?? 0) > 0 && (completed.finishedAt ?? 0) >= (completed.startedAt ?? 0));
    const inbox = await asked(database, "SELECT count(*)::int4 FROM mainspring.event_inbox");
    assert.deepEqual(inbox, [[0]]);
    const level = "SELECT needs_level FROM mainspring.schema_migrations WHERE name = 'events'";
    assert.deepEqual(await asked(database, level), [[3]]);
  });
});

it("writes events only where its configuration and every node of the cluster agree", () => {
  const [wanted, unwanted] = [new Telling(true), new Telling(false)];
  assert.equal(wanted.isOn(), false, "the level of the cluster is not known");
  for (const telling of [wanted, unwanted]) telling.follow(() => 3);
  assert.deepEqual([wanted.isOn(), unwanted.isOn()], [true, false]);
  wanted.follow(() => 2);
  assert.equal(wanted.isOn(), false);
});
