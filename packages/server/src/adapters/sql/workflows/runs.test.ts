import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import type pg from "pg";
import { birth, born, nodeEnds, started } from "../../../ports/conformance/runs-scene.conformance.ts";
import { Scene } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import {
  ASSIGNING_TEXT,
  CHANGING_TEXT,
  COMMIT_TEXT,
  commitStatement,
  PLANNING_TEXT,
  REPLACING_TEXT,
  STEPPING_TEXT,
  WHOLE_TEXT,
} from "../commit/commit-statement.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

describe("runs of workflows on PostgreSQL", () => {
  let server: TestServer;
  let database: pg.ClientConfig;
  let scene: Scene;
  before(async () => {
    server = await startTestServer();
  });
  beforeEach(async () => {
    database = await server.newStoreDatabase();
    const runtime = systemRuntime();
    const store = await openTestStore(database, runtime);
    scene = await Scene.open({ store, runtime, close: () => store.close() });
  });
  after(() => server.stop());

  const neededLevel = async () => {
    const text = "SELECT needs_level FROM mainspring.schema_migrations WHERE name = 'workflows'";
    return (await asked(database, text)).flat();
  };

  it("keep programs that do not know them from a store that has some, from the first submit on", async () => {
    const job = await scene.submitted();
    await scene.applied(job.shard, { changes: [scene.succeeded(job)] });
    assert.deepEqual(await neededLevel(), [1]);
    await started(scene);
    assert.deepEqual(await neededLevel(), [3]);
    await scene.store.close();
  });

  it("have nodes that neither a list of dead letters nor the index of first executions knows", async () => {
    const run = await started(scene);
    await scene.applied(run.shard, { changes: [nodeEnds(scene, run, 0)], births: [birth(scene, run, 2, [0])] });
    const columns = "node, trigger, settled, run_shard, job_id = $1 FROM mainspring.executions ORDER BY node";
    assert.deepEqual(await asked(database, `SELECT ${columns}`, [run.executionId]), [
      [-1, 1, null, null, false],
      ...[0, 1, 2].map((node) => [node, 6, 3, null, true]),
    ]);
    await scene.store.close();
  });

  it("find a node that only an index refuses, whichever half of the tick has its parent", async () => {
    const run = await started(scene);
    // The index of flows has the pool of a waiting row, and cannot hold so long a text that does not compress.
    const pool = Array.from({ length: 300 }, () => scene.runtime.uuid()).join("");
    const far = { queue: "WAITING", dueAt: scene.runtime.now() + 60_000 } as const;
    const bad = birth(scene, run, 3, [0, 1], { ...far, pool });
    const tick = scene.tick(run.shard, {
      changes: [nodeEnds(scene, run, 0), nodeEnds(scene, run, 1)],
      births: [birth(scene, run, 2, [0, 1], far), bad],
    });
    const [outcome] = await scene.store.commit([tick]);
    assert.deepEqual(
      outcome?.refused.map(({ id }) => id),
      [bad.row.id],
    );
    assert.deepEqual([outcome?.missed, outcome?.notBorn], [[], []]);
    assert.deepEqual(await born(scene, run), [0, 1, 2]);
    await scene.store.close();
  });

  it("leave the statements alone that commits without runs use", async () => {
    const run = await started(scene, { shard: 1 });
    const [job, other] = [await scene.submitted({ shard: 1 }), await scene.submitted({ shard: 1 })];
    const changes = [scene.succeeded(job)];
    const assigned = [scene.entry(other)];
    const steps = [
      { executionId: job.executionId, ...{ kind: "RESULT", name: "a", attempt: 1, number: 1, at: 1, data: null } },
    ];
    const texts = [{ changes }, { assigned }, { changes, assigned }, { changes, steps: steps as never }].map(
      (parts) => {
        const { name, text } = commitStatement([scene.tick(1, parts)], 1);
        return [name, text];
      },
    );
    assert.deepEqual(texts, [
      ["commit_changing", CHANGING_TEXT],
      ["commit_assigning", ASSIGNING_TEXT],
      ["commit", COMMIT_TEXT],
      ["commit_stepping", STEPPING_TEXT],
    ]);
    for (const text of [...texts.map(([, text]) => text), PLANNING_TEXT, REPLACING_TEXT, WHOLE_TEXT])
      assert.doesNotMatch(text as string, /workflow_runs|branch|bred|settled = 3/);
    const births = [birth(scene, run, 2, [0])];
    assert.equal(commitStatement([scene.tick(1, { changes, births })], 1).name, "commit_running");
    await scene.store.close();
  });
});
