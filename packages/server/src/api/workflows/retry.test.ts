import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const target = { handler: "echo" };
const error = { name: "Error", message: "no disk" };
const dead = { state: "DEAD", error, ended: [], failures: 1 } as const;
const etl = {
  name: "etl",
  timeoutSec: 600,
  nodes: [
    { name: "a", target },
    { name: "good", target, dependsOn: [{ node: "a", when: "BRANCH:good" }] },
    { name: "bad", target, dependsOn: [{ node: "a", when: "BRANCH:bad" }] },
    { name: "last", target, dependsOn: ["bad"] },
  ],
};

describe("the retry of a run", () => {
  let stage: WorkflowStage;
  let first: string;
  beforeEach(async () => {
    stage = await WorkflowStage.open();
    first = (await stage.submitted(etl)).workflowId;
  });
  afterEach(() => stage.close());

  const retry = (run: string, body?: object, headers: Record<string, string> = {}) =>
    stage.post(`/v1/workflows/${run}/retry`, body, headers);
  const retried = async (run: string, body?: object) => {
    const answer = await retry(run, body);
    assert.equal(answer.statusCode, 201, answer.body);
    return answer.json();
  };
  const refused = async (run: string, body?: object) => {
    const answer = await retry(run, body);
    return [answer.statusCode, answer.json().detail];
  };
  /** Creates the node `bad` of a run, which is DEAD, and ends the run. */
  const fails = async (run: string) => {
    await stage.ends(run, 0, { branch: "bad" });
    await stage.bears(run, 2, "echo");
    await stage.ends(run, 2, dead);
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
  };
  const nodesOf = async (run: string) => {
    const { items } = await stage.read(`/v1/workflows/${run}/nodes`);
    return Object.fromEntries(items.map((node: { name: string }) => [node.name, node]));
  };

  it("is a new run of the same job, which begins after the nodes that it keeps", async () => {
    await fails(first);
    const { jobId } = await stage.read(`/v1/workflows/${first}`);
    await stage.passes(1_000_000);
    const { workflowId, ...rest } = await retried(first);
    const executionIds = { bad: nodeExecutionId(workflowId, 2, null, 0) };
    assert.deepEqual(rest, { jobId, state: "RUNNING", nodes: 4, startsAt: null, executionIds, retryOf: first });
    const run = await stage.read(`/v1/workflows/${workflowId}`);
    assert.deepEqual([run.retryOf, run.retriedBy, run.name, run.state], [first, [], "etl", "RUNNING"]);
    assert.deepEqual(run.counts, { ...run.counts, SUCCEEDED: 1, SKIPPED: 1, PENDING: 1, BLOCKED: 1 });
    assert.equal(
      Date.parse(run.deadline) - Date.parse(run.startedAt),
      600_000,
      "the deadline counts from the new start",
    );
    assert.deepEqual((await stage.read(`/v1/workflows/${first}`)).retriedBy, [workflowId]);
    const executions = await stage.read(`/v1/jobs/${jobId}/executions`);
    assert.deepEqual(
      executions.items.map((item: { executionId: string; trigger: string }) => [item.executionId, item.trigger]),
      [
        [workflowId, "RETRY"],
        [first, "API"],
      ],
    );
    assert.deepEqual((await stage.read("/v1/dead-letters")).items, []);
  });

  it("waits for its concurrency key with the nodes that it keeps, and is not paused until it has started", async () => {
    const run = (await stage.submitted({ ...etl, concurrencyKey: "etl" })).workflowId;
    await stage.runOpens(run);
    await stage.bears(run, 0, "echo");
    await fails(run);
    const { workflowId, ...rest } = await retried(run);
    const { state, startsAt, executionIds } = rest;
    assert.deepEqual([state, startsAt, executionIds], ["PENDING", null, {}]);
    const { a, bad } = await nodesOf(workflowId);
    assert.deepEqual([a.state, a.keptFrom.workflowId, bad.state], ["SUCCEEDED", run, "BLOCKED"]);
    const pause = await stage.post(`/v1/workflows/${workflowId}/pause`);
    assert.deepEqual(
      [pause.statusCode, pause.json().detail],
      [409, "the workflow is PENDING: only one that starts nodes can be paused"],
    );
  });

  it("shows where a node that it keeps has SUCCEEDED", async () => {
    await fails(first);
    const { workflowId } = await retried(first, { from: "FAILED" });
    const keptFrom = { workflowId: first, executionId: nodeExecutionId(first, 0, null, 0) };
    const { a, good, bad, last } = await nodesOf(workflowId);
    assert.deepEqual([a.state, a.executionId, a.branch, a.keptFrom], ["SUCCEEDED", null, "bad", keptFrom]);
    assert.deepEqual([good.state, good.because.dependencies[0].node, good.keptFrom], ["SKIPPED", "a", null]);
    assert.deepEqual([bad.state, bad.keptFrom, last.state], ["PENDING", null, "BLOCKED"]);
    const { nodes } = await stage.read(`/v1/workflows/${workflowId}/graph`);
    assert.deepEqual([nodes[0].state, nodes[0].keptFrom, nodes[2].keptFrom], ["SUCCEEDED", keptFrom, null]);
    const explained = await stage.read(`/v1/workflows/${workflowId}/nodes/a/explain`);
    assert.deepEqual([explained.state, explained.keptFrom], ["SUCCEEDED", keptFrom]);
    assert.match(explained.reasons[0].why, new RegExp(`keeps the result of the execution ${keptFrom.executionId}`));
  });

  it("of a retry keeps nodes of both runs, each with the run that has its execution", async () => {
    await fails(first);
    const second = (await retried(first)).workflowId;
    await stage.ends(second, 2);
    await stage.bears(second, 3, "echo");
    await stage.ends(second, 3, dead);
    await stage.runEnds(second, { state: "DEAD", reason: "NODE_DEAD", error });
    const { workflowId, executionIds } = await retried(second);
    assert.deepEqual(Object.keys(executionIds), ["last"]);
    const { a, bad, last } = await nodesOf(workflowId);
    assert.deepEqual([a.keptFrom.workflowId, bad.keptFrom.workflowId, last.keptFrom], [first, second, null]);
    assert.equal(a.branch, "bad");
  });

  it("tells followers once of the nodes that it keeps", async () => {
    await fails(first);
    const { workflowId } = await retried(first);
    await stage.ends(workflowId, 2);
    await stage.runEnds(workflowId);
    const { body } = await stage.app.inject({ url: `/v1/workflows/${workflowId}/events` });
    assert.equal(body.match(/"name":"a","state":"SUCCEEDED"/g)?.length, 1);
    const ids = [...body.matchAll(/^id: (.+)$/gm)].map(([, id]) => id as string);
    const later = { url: `/v1/workflows/${workflowId}/events`, headers: { "last-event-id": ids.at(-1) ?? "" } };
    assert.equal((await stage.app.inject(later)).statusCode, 204);
    const cut = (ids.at(-1) ?? "").replace(/^[A-Z]+/, "RUNNING");
    const rest = await stage.app.inject({ ...later, headers: { "last-event-id": cut } });
    assert.doesNotMatch(rest.body, /"name":"a"/, "a kept node is known to who has seen any event");
  });

  it("runs the nodes again that it is asked for, and those that depend on them", async () => {
    await fails(first);
    const { workflowId, executionIds } = await retried(first, { from: ["a"] });
    assert.deepEqual(Object.keys(executionIds), ["a"]);
    const { a, bad } = await nodesOf(workflowId);
    assert.deepEqual([a.state, a.keptFrom, bad.state], ["PENDING", null, "BLOCKED"]);
  });

  it("is refused where nothing would run, or the run is open or unknown", async () => {
    const [status, detail] = await refused(first);
    assert.deepEqual(
      [status, detail],
      [409, "the workflow is RUNNING: only a final one is retried. Wait for its end, or cancel it"],
    );
    assert.equal((await refused(nodeExecutionId(first, 0, null, 0)))[0], 404);
    await stage.ends(first, 0, { branch: "none" });
    await stage.runEnds(first);
    const [, succeeded] = await refused(first);
    assert.match(succeeded, /SUCCEEDED: no part of it has failed.*\{"from": \["NODE"\]\}/);
    assert.match((await refused(first, { from: ["good"] }))[1], /no node would run/);
    assert.equal((await retried(first, { from: ["a"] })).retryOf, first);
  });

  it("is refused for names and bodies that are wrong, and says what is", async () => {
    await fails(first);
    assert.deepEqual(await refused(first, { from: ["a", "x"] }), [400, 'from[1]: the workflow has no node "x"']);
    for (const body of [{ from: [] }, { from: "a" }, { from: [1] }, { form: ["a"] }, []]) {
      const [status, detail] = await refused(first, body);
      assert.deepEqual([status, typeof detail], [400, "string"], JSON.stringify(body));
    }
    assert.deepEqual((await stage.read(`/v1/workflows/${first}`)).retriedBy, []);
  });

  it("is refused while another retry is open", async () => {
    await fails(first);
    const { workflowId } = await retried(first);
    assert.deepEqual(await refused(first), [
      409,
      `execution ${workflowId} of the job is not final: wait for it, or cancel it`,
    ]);
  });

  it("is answered again for the same idempotency key, with and without a body", async () => {
    await fails(first);
    const other = (await stage.submitted(etl)).workflowId;
    await fails(other);
    for (const [run, body] of [
      [first, undefined],
      [other, { from: ["a"] }],
    ] as const) {
      const headers = { "idempotency-key": `key-${run}` };
      const answers = [await retry(run, body, headers), await retry(run, body, headers)];
      const [one, again] = answers.map((answer) => answer.json());
      assert.deepEqual(
        answers.map(({ statusCode }) => statusCode),
        [201, 201],
      );
      assert.deepEqual(one, again);
      assert.equal(answers[1]?.headers["idempotent-replayed"], "true");
      const reused = await retry(run === first ? other : first, body, headers);
      assert.equal(reused.json().type, "/problems/idempotency-key-reused");
    }
  });

  it("is named by the refusal to run a workflow again as a job", async () => {
    await fails(first);
    const answer = await stage.post(`/v1/executions/${first}/retry`);
    assert.match(answer.json().detail, /POST \/v1\/workflows\/\{workflowId\}\/retry/);
  });

  it("keeps results of at most 20 runs", async () => {
    const target = { handler: "echo" };
    const chain = Array.from({ length: 22 }, (_, i) => ({
      ...{ name: `n${i}`, target },
      ...(i > 0 && { dependsOn: [`n${i - 1}`] }),
    }));
    let run = (await stage.submitted({ nodes: chain })).workflowId;
    for (let i = 0; i < 20; i++) {
      await stage.ends(run, i);
      await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
      run = (await retried(run)).workflowId;
    }
    await stage.ends(run, 20);
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
    assert.match((await refused(run))[1], /results of 21 earlier runs: at most 20/);
    assert.equal((await retried(run, { from: ["n20"] })).retryOf, run);
  });
});
