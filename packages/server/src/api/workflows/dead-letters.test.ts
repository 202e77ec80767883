import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { nodeExecutionId } from "../../domain/workflow/node-id.ts";
import { WorkflowStage } from "./workflows.fixture.ts";

const error = { name: "Error", message: "no disk" };

describe("a DEAD run of a workflow as a dead letter", () => {
  let stage: WorkflowStage;
  let run: string;
  let node: string;
  before(async () => {
    stage = await WorkflowStage.open();
    run = (await stage.submitted({ name: "etl", nodes: [{ name: "a", target: { handler: "echo" } }] })).workflowId;
    node = nodeExecutionId(run, 0, null, 0);
    await stage.ends(run, 0, { state: "DEAD", error, ended: [], failures: 1 });
    await stage.runEnds(run, { state: "DEAD", reason: "NODE_DEAD", error });
  });
  after(() => stage.close());

  const listed = async () => {
    const { items } = await stage.read("/v1/dead-letters");
    return items.map(({ executionId }: { executionId: string }) => executionId);
  };
  const outcomes = async (action: string, executionIds: string[]) => {
    const answer = await stage.post(`/v1/dead-letters/${action}`, { executionIds });
    return answer
      .json()
      .items.map((item: { outcome: string; newExecutionId: string | null }) => [item.outcome, item.newExecutionId]);
  };

  it("is listed by its run alone", async () => {
    assert.deepEqual(await listed(), [run]);
  });

  it("is not replayed by id, nor is its node, and says so", async () => {
    const refused = ["OF_WORKFLOW", null];
    assert.deepEqual(await outcomes("replay", [run, node, run]), [refused, refused, refused]);
    assert.deepEqual(await listed(), [run]);
    assert.equal((await stage.read("/v1/workflows?name=etl")).items.length, 1);
  });

  it("stays at a replay by filter, which counts it", async () => {
    const begun = await stage.post("/v1/dead-letters/replay", { filter: {} });
    assert.equal(begun.statusCode, 202);
    let told = begun.json();
    while (told.state !== "FINISHED") {
      await new Promise((resolve) => setImmediate(resolve));
      told = await stage.read(String(begun.headers["location"]));
    }
    assert.deepEqual([told.settled, told.skipped, await listed()], [0, 1, [run]]);
  });

  it("is discarded as others are, and its node is no letter", async () => {
    const discarded = [
      ["NOT_A_DEAD_LETTER", null],
      ["DISCARDED", null],
    ];
    assert.deepEqual(await outcomes("discard", [node, run]), discarded);
    assert.deepEqual(await listed(), []);
    assert.equal((await stage.read(`/v1/workflows/${run}`)).state, "DEAD");
    assert.deepEqual(await outcomes("replay", [run]), [["NOT_A_DEAD_LETTER", null]]);
  });
});
