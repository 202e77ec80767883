import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import type { LiveExecution } from "../../ports/messages.ts";
import { tenantOf } from "../../security/tenant.ts";
import { playOwner } from "../api.fixture.ts";
import { EventReader } from "../event-reader.fixture.ts";
import { FOLLOWERS_MAX, StreamSeats } from "../executions/stream-seats.ts";
import { RunFollowers } from "./run-followers.ts";
import type { RunPicture } from "./run-picture.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const error = { name: "Error", message: "no disk" };
const graph = {
  nodes: [
    { name: "a", target },
    { name: "b", target },
    { name: "both", target, dependsOn: ["a", "b"] },
    { name: "alarm", target, dependsOn: [{ node: "b", when: "FAILED" }] },
  ],
};

interface Told {
  event: string;
  id: string;
  data: { name: string | null; state: string; mode: string | null; paused?: boolean; attempt: number };
}

/** Events of a text, as it is sent. */
function eventsOf(text: string): Told[] {
  return [...text.matchAll(/event: (.+)\nid: (.+)\ndata: (.+)\n\n/g)].map(([, event, id, data]) => ({
    ...{ event: event as string, id: id as string },
    data: JSON.parse(data as string) as Told["data"],
  }));
}

const wordsOf = (text: string) =>
  eventsOf(text).map(({ event, data }) =>
    event === "node" ? `${data.name} ${data.state}` : `run ${data.state} ${data.mode}${data.paused ? " paused" : ""}`,
  );

describe("following a run by server-sent events", () => {
  let stage: WorkflowStage;
  let url: string;
  before(async () => {
    stage = await WorkflowStage.open();
    url = await stage.app.listen({ host: "127.0.0.1", port: 0 });
  });
  after(() => stage.close());

  const open = (run: string, lastEventId?: string) =>
    EventReader.open(`${url}/v1/workflows/${run}/events`, lastEventId);
  const failing = (run: string) =>
    stage.commit(run, { runs: [{ run, wasRevision: 1, revision: 2, mode: "FAILING", paused: false }] });

  it("tells that the run was paused and resumed, and goes on after each", async () => {
    const { workflowId: run } = await stage.submitted(graph);
    const stream = await open(run);
    await stream.until(/"b".*\n\n/);
    const order = (wasRevision: number, paused: boolean) =>
      stage.commit(run, { runs: [{ run, wasRevision, revision: wasRevision + 1, mode: "RUNNING", paused }] });
    await order(1, true);
    const told = await stream.until(/event: workflow.*\n.*\n.*\n\n/);
    assert.deepEqual(wordsOf(told), ["run RUNNING RUNNING paused"]);
    stream.response.destroy();
    await order(2, false);
    const next = await open(run, eventsOf(told).at(-1)?.id);
    assert.deepEqual(wordsOf(await next.until(/event: workflow.*\n.*\n.*\n\n/)).at(-1), "run RUNNING RUNNING");
    next.response.destroy();
  });

  it("tells states of nodes, the mode of the run, and its end", async () => {
    const { workflowId: run } = await stage.submitted(graph);
    const endOwner = playOwner(stage.bus, (message, node) => {
      if (message.kind !== "ASK") return;
      const held = { attempt: 1, workerId: "w1", startedAt: 7, since: 7, cancelRequested: false };
      const executions = message.executionIds.map((executionId): LiveExecution => {
        return { executionId, state: "RUNNING", ...held };
      });
      stage.bus.send({ node, role: "api" }, { kind: "LIVE", request: message.request, executions });
    });
    const stream = await open(run);
    assert.equal(stream.response.headers["content-type"], "text/event-stream; charset=utf-8");
    assert.deepEqual(wordsOf(await stream.until(/"b".*\n\n/)), ["run RUNNING RUNNING", "a RUNNING", "b RUNNING"]);
    endOwner();
    await stage.ends(run, 0);
    assert.deepEqual(wordsOf(await stream.until(/"a".*\n\n/)), ["a SUCCEEDED"]);
    await stage.ends(run, 1, { state: "DEAD", error, ended: [], failures: 1 });
    await failing(run);
    const told = await stream.until(/event: workflow.*\n.*\n.*\n\n/);
    assert.deepEqual(wordsOf(told), ["b DEAD", "both SKIPPED", "run RUNNING FAILING"]);
    assert.match(told, /"failed":\[\{"name":"b"/);
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
    assert.deepEqual(wordsOf(await stream.until(/"state":"DEAD".*\n\n/)), ["run DEAD null"]);
    await stream.end();
  });

  it("goes on behind the last event that was seen, and repeats what happened just before it", async () => {
    const { workflowId: run } = await stage.submitted(graph);
    await stage.ends(run, 0);
    await stage.passes(60_000);
    await stage.ends(run, 1, { state: "DEAD", error, ended: [], failures: 1 });
    const first = await open(run);
    const all = eventsOf(await first.until(/"both".*\n\n/));
    first.response.destroy();
    const names = all.map(({ data }) => data.name);
    assert.deepEqual(names, [null, "a", "b", "both"]);
    assert.equal(all[1]?.id, all[0]?.id, "a stream that breaks between the events of one picture gets them again");
    const last = all.at(-1)?.id as string;
    await stage.passes(60_000);
    await failing(run);
    const behind = await open(run, last);
    const told = wordsOf(await behind.until(/event: workflow.*\n.*\n.*\n\n/));
    behind.response.destroy();
    assert.deepEqual(told, ["b DEAD", "both SKIPPED", "run RUNNING FAILING"], "and not the end of a");
  });

  it("tells of a run that is over, and has no more to tell to a client that knows", async () => {
    const { workflowId: run } = await stage.submitted({ nodes: [{ name: "a", target }] });
    await stage.ends(run, 0);
    await stage.runEnds(run);
    const stream = await open(run);
    const text = await stream.until(/event: workflow.*\n.*\n.*\n\n/);
    assert.deepEqual(wordsOf(text), ["a SUCCEEDED", "run SUCCEEDED null"]);
    await stream.end();
    const again = await open(run, eventsOf(text)[0]?.id);
    assert.equal(again.response.statusCode, 200);
    assert.equal(
      await again.until(/event: workflow.*\n.*\n.*\n\n/),
      text,
      "where the stream broke before the run was told",
    );
    await again.end();
    assert.equal((await open(run, eventsOf(text).at(-1)?.id)).response.statusCode, 204);
  });

  it("refuses an id that is none, and a run that is not there", async () => {
    const { workflowId: run } = await stage.submitted(graph);
    const events = `/v1/workflows/${run}/events`;
    for (const id of ["7", "RUNNING.1.7", "RUNNING.RUNNING.-1", "x.RUNNING.7"]) {
      const refused = await stage.get(events, { "last-event-id": id });
      assert.equal(refused.json().type, "/problems/invalid-cursor", id);
    }
    for (const id of [nodeExecutionId(run, 0, null, 0), stage.bus.node])
      assert.equal((await stage.get(`/v1/workflows/${id}/events`)).statusCode, 404);
    assert.equal((await stage.get("/v1/workflows/x/events")).statusCode, 400);
  });

  it("tells all of a large run to a client that reads", async () => {
    const nodes = Array.from({ length: 1_500 }, (_, index) => ({ name: `node-${index}`, target }));
    const { workflowId: run } = await stage.submitted({ nodes });
    const stream = await open(run);
    const told = eventsOf(await stream.until(/"node-999".*\n\n/));
    stream.response.destroy();
    assert.equal(new Set(told.map(({ data }) => data.name)).size, told.length);
    assert.ok(told.length > 1_000);
  });

  it("ends all streams when the server stops", async () => {
    const other = await WorkflowStage.open();
    const address = await other.app.listen({ host: "127.0.0.1", port: 0 });
    const { workflowId: run } = await other.submitted(graph);
    const stream = await EventReader.open(`${address}/v1/workflows/${run}/events`);
    await stream.until(/event: workflow/);
    const ended = stream.end();
    await other.close();
    await ended;
    assert.equal(stream.response.complete, true);
  });
});

describe("followers of runs", () => {
  it("cost one read of each run, in a tenth of the time, while there are any", async () => {
    const runtime = new ManualRuntime();
    const reads: [string, number][] = [];
    let tookMs = 0;
    const runs = {
      picture: async (_: unknown, run: string) => {
        reads.push([run, runtime.monotonicMs()]);
        const taken = new Promise<void>((resolve) => runtime.setTimer(tookMs, resolve));
        await taken;
        return {} as RunPicture;
      },
    };
    const followers = new RunFollowers({ runs, runtime, seats: new StreamSeats() });
    let changes = 0;
    const follower = (run: string) => ({ tenant: tenantOf(null), run, changed: () => void changes++ });
    const leaves = ["r1", "r1", "r2"].map((run) => followers.enter(follower(run)));
    const began = runtime.monotonicMs();
    await runtime.advance(500);
    await runtime.advance(0);
    assert.deepEqual([reads.map(([run]) => run), changes], [["r1", "r2"], 3]);
    tookMs = 100;
    await runtime.advance(700);
    assert.equal(changes, 6);
    reads.splice(0);
    await runtime.advance(1_799);
    assert.equal(reads.length, 0);
    await runtime.advance(1);
    assert.deepEqual(reads[0], ["r1", began + 500 + 500 + 200 + 1_800]);
    for (const leave of leaves) leave();
    await runtime.advance(10_000);
    assert.ok(reads.length <= 2);
  });

  it("have a bound, together with followers of executions", () => {
    const seats = new StreamSeats();
    const followers = new RunFollowers({ runs: { picture: async () => null }, runtime: new ManualRuntime(), seats });
    for (let stream = 1; stream < FOLLOWERS_MAX; stream++) seats.take();
    const follower = { tenant: tenantOf(null), run: "r1", changed: () => {} };
    const leave = followers.enter(follower);
    assert.throws(() => followers.enter(follower), /too many streams/);
    leave();
    leave();
    followers.enter(follower);
    assert.throws(() => seats.take(), /too many streams/);
  });
});
