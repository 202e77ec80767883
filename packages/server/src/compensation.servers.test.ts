import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, MainspringError, TerminalError, task, Worker, type WorkflowNode } from "@mainspring/sdk";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";
import { Hold } from "./workflow-tasks.fixture.ts";

const NO_RETRY = { retryPolicy: { maxAttempts: 1 } };

describe("compensations over HTTP, on PostgreSQL, with a worker", () => {
  let postgres: TestPostgres;
  let node: RunningNode;
  let client: Client;
  let worker: Worker;
  const holds = new Hold();
  /** Payloads of compensations, in their order. */
  const undone: unknown[] = [];
  /** Nodes whose compensations fail. */
  const stuck = new Set<string>();
  const tasks = [
    task({
      name: "book",
      run: async (what: string) => ({ booking: `${what}-1`, price: 12345678901234567890n.toString() }),
    }),
    task({
      name: "undo",
      run: async (sent: { result: { booking: string } }) => {
        if (stuck.has(sent.result.booking)) throw new TerminalError("the airline does not answer");
        undone.push(sent);
      },
    }),
    task({
      name: "fail",
      run: async (): Promise<null> => {
        throw new TerminalError("no money");
      },
    }),
    task({ name: "hold", run: holds.run }),
  ];
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    node = await startLocalNode({ MAINSPRING_STORE: postgres.url });
    client = new Client({ url: node.httpUrl });
    worker = new Worker({ url: node.grpcAddress, slots: 8, tasks, warn: () => undefined });
    await worker.start();
  });
  after(async () => {
    await worker?.stop();
    await node?.stop();
    await postgres?.stop();
  });

  const booking = (name: string, dependsOn: string[] = []) => ({
    ...{ name, target: { handler: "book" }, payload: name, dependsOn },
    compensate: { target: { handler: "undo" }, ...NO_RETRY },
  });
  const charge = (dependsOn: string[]) => ({ name: "charge", target: { handler: "fail" }, dependsOn, ...NO_RETRY });
  const trip = [booking("flight"), booking("hotel", ["flight"]), charge(["hotel"])];
  type Request = Parameters<Client["workflows"]["submit"]>[0];
  const submit = async (workflow: Request) => (await client.workflows.submit(workflow)).workflowId;
  const nodesOf = async (run: string): Promise<Record<string, WorkflowNode>> => {
    const nodes: Record<string, WorkflowNode> = {};
    for await (const one of client.workflows.nodes(run)) nodes[one.name] = one;
    return nodes;
  };
  const compensationsOf = async (run: string) =>
    Object.fromEntries(Object.values(await nodesOf(run)).map((one) => [one.name, one.compensation?.state ?? null]));
  const ends = async (run: string) => {
    const { state, reason, mode, error } = await client.workflows.waitFor(run);
    assert.equal(mode, null);
    return [state, reason, error?.message ?? null];
  };
  const status = async (promise: Promise<unknown>) => {
    const error = await promise.then(
      () => assert.fail("it was not refused"),
      (thrown: unknown) => thrown,
    );
    assert.ok(error instanceof MainspringError, String(error));
    return `${error.problem?.status}: ${error.message}`;
  };

  it("undo what was done, in reverse, with what the nodes got and answered", async () => {
    undone.length = 0;
    const run = await submit({ name: "trip", input: { card: 12 }, nodes: trip });
    const seen = new Map<string, string>();
    for await (const event of client.workflows.follow(run)) {
      if (event.type === "node" && event.node.compensation !== null)
        seen.set(event.node.name, event.node.compensation.state);
    }
    assert.deepEqual(await ends(run), ["DEAD", "NODE_DEAD", "its node charge is DEAD"]);
    const sent = (what: string) => {
      const result = { booking: `${what}-1`, price: "12345678901234567890" };
      return { payload: what, result, input: { card: 12 } };
    };
    assert.deepEqual(undone, [sent("hotel"), sent("flight")]);
    assert.deepEqual(Object.fromEntries(seen), { flight: "SUCCEEDED", hotel: "SUCCEEDED" }, "events tell of it");
    const nodes = await nodesOf(run);
    assert.deepEqual(await compensationsOf(run), { flight: "SUCCEEDED", hotel: "SUCCEEDED", charge: null });
    assert.equal(nodes.flight?.state, "SUCCEEDED");
    const own = await client.getExecution(nodes.flight?.compensation?.executionId ?? "");
    assert.deepEqual([own.handler, own.workflowId, own.node, own.trigger], ["undo", run, "flight", "NODE"]);
    const graph = await client.workflows.graph(run);
    assert.deepEqual(
      graph.nodes.map(({ compensatedBy, compensation }) => [compensatedBy, compensation]),
      [
        ["undo", "SUCCEEDED"],
        ["undo", "SUCCEEDED"],
        [null, null],
      ],
    );
    const dead: string[] = [];
    for await (const { executionId } of client.deadLetters.list({})) dead.push(executionId);
    assert.deepEqual(dead, [run], "the run is the dead letter");
  });

  it("run every node again in a retry that had been undone", async () => {
    const run = await submit({ name: "again", nodes: trip });
    await ends(run);
    undone.length = 0;
    const { workflowId, executionIds } = await client.workflows.retry(run);
    assert.deepEqual(Object.keys(executionIds), ["flight"]);
    assert.deepEqual((await ends(workflowId)).slice(0, 2), ["DEAD", "NODE_DEAD"]);
    assert.deepEqual(
      undone.map((sent) => (sent as { payload: string }).payload),
      ["hotel", "flight"],
    );
  });

  it("leave the run DEAD where one of them fails, and go on there in a retry", async () => {
    stuck.add("hotel-1");
    undone.length = 0;
    const nodes = [booking("flight"), booking("hotel", ["flight"]), booking("car"), charge(["hotel", "car"])];
    const run = await submit({ name: "stuck", nodes });
    const [state, reason, message] = await ends(run);
    assert.deepEqual([state, reason], ["DEAD", "COMPENSATION_FAILED"]);
    assert.equal(
      message,
      "the compensation of its node hotel has not succeeded; the run failed: its node charge is DEAD",
    );
    const states = { flight: "SKIPPED", hotel: "DEAD", car: "SUCCEEDED", charge: null };
    assert.deepEqual(await compensationsOf(run), states);
    const told = await client.workflows.get(run);
    assert.deepEqual(
      told.failedCompensations.map(({ name, error }) => [name, error?.message]),
      [["hotel", "the airline does not answer"]],
    );
    const explained = await client.workflows.explain(run, "flight");
    assert.match(String(explained.compensation?.reasons[0]?.why), /has failed: hotel/);
    stuck.clear();
    undone.length = 0;
    const { workflowId, executionIds } = await client.workflows.retry(run);
    assert.deepEqual(executionIds, {});
    assert.deepEqual(await ends(workflowId), ["DEAD", "NODE_DEAD", "its node charge is DEAD"]);
    assert.deepEqual(
      undone.map((sent) => (sent as { payload: string }).payload),
      ["hotel", "flight"],
    );
    assert.deepEqual(await compensationsOf(workflowId), {
      ...{ flight: "SUCCEEDED", hotel: "SUCCEEDED", car: "SUCCEEDED", charge: null },
    });
    const again = await client.workflows.retry(workflowId);
    assert.deepEqual(Object.keys(again.executionIds).sort(), ["car", "flight"], "everything is undone by now");
    await ends(again.workflowId);
  });

  it("run nodes again from a run whose compensation failed if the retry names one", async () => {
    stuck.add("hotel-1");
    const run = await submit({ name: "named", nodes: trip });
    await ends(run);
    stuck.clear();
    const { workflowId, executionIds } = await client.workflows.retry(run, { from: ["hotel"] });
    assert.deepEqual(Object.keys(executionIds), ["hotel"], "the flight is still booked");
    undone.length = 0;
    await ends(workflowId);
    assert.deepEqual(
      undone.map((sent) => (sent as { payload: string }).payload),
      ["hotel", "flight"],
    );
    assert.equal((await nodesOf(workflowId)).flight?.keptFrom?.workflowId, run);
  });

  it("wait while the run is paused, and are not cancelled with it", async () => {
    const begins = holds.begins("undo");
    const undo = { target: { handler: "hold" }, payload: "undo" };
    const nodes = [booking("flight"), { ...booking("hotel", ["flight"]), compensate: undo }, charge(["hotel"])];
    const run = await submit({ name: "paused", nodes });
    await begins;
    const { mode } = await client.workflows.get(run);
    assert.equal(mode, "COMPENSATING");
    assert.match(await status(client.workflows.cancel(run)), /^409: .*COMPENSATING/);
    const flight = await client.workflows.explain(run, "flight");
    assert.deepEqual(flight.compensation?.reasons, [{ reason: "COMPENSATES_AFTER", open: 1, first: ["hotel"] }]);
    const explained = await client.explain(run);
    assert.deepEqual(
      explained.reasons.map(({ reason, mode, first }) => [reason, mode, first]),
      [["PARENTS_OPEN", "COMPENSATING", ["hotel", "flight"]]],
    );
    assert.equal(await client.workflows.pause(run), "PAUSED");
    holds.goOn("undo");
    const hotel = (await nodesOf(run)).hotel?.compensation?.executionId ?? "";
    for await (const event of client.follow(hotel)) assert.ok(event.type !== "log");
    assert.deepEqual((await compensationsOf(run)).flight, "PENDING");
    await client.workflows.resume(run);
    assert.deepEqual((await ends(run)).slice(0, 2), ["DEAD", "NODE_DEAD"]);
  });

  it("end with the cancellation of one of them, because nobody undoes its node then", async () => {
    const begins = holds.begins("end");
    const undo = { target: { handler: "hold" }, payload: "end" };
    const run = await submit({ nodes: [{ ...booking("flight"), compensate: undo }, charge(["flight"])] });
    await begins;
    await client.cancelExecution((await nodesOf(run)).flight?.compensation?.executionId ?? "");
    assert.deepEqual((await ends(run)).slice(0, 2), ["DEAD", "COMPENSATION_FAILED"]);
  });

  for (const compensate of ["ON_FAILURE", "ON_FAILURE_OR_CANCEL"] as const) {
    it(`of a cancelled run with ${compensate}`, async () => {
      const begins = holds.begins(compensate);
      const last = { name: "last", target: { handler: "hold" }, payload: compensate, dependsOn: ["flight"] };
      const run = await submit({ compensate, nodes: [booking("flight"), last] });
      await begins;
      undone.length = 0;
      await client.workflows.cancel(run);
      assert.deepEqual((await ends(run)).slice(0, 2), ["CANCELLED", null]);
      assert.equal(undone.length, compensate === "ON_FAILURE" ? 0 : 1);
      assert.equal((await client.workflows.get(run)).compensate, compensate);
    });
  }
});
