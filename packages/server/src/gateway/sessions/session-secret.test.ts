import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workerIdOf } from "@mainspring/proto";
import { builtinWorkerId } from "../../engine/workers/builtin-id.ts";
import { assignment, Stage } from "../gateway.fixture.ts";

const SECRET = "d1b6f2c0-4b1e-4b0e-9d55-5a1f0c9be001";
const ID = workerIdOf(SECRET) ?? "";

describe("the secret of a worker's id", () => {
  it("keeps strangers from taking the worker's place and settling its jobs", () => {
    const stage = new Stage();
    stage.own();
    const honest = stage.connect().hello({ workerId: ID, secret: SECRET, slots: 5, connection: 1 });
    stage.assign(assignment(1, { workerId: ID }));
    for (const secret of ["", "another-secret-of-some-length", SECRET.slice(1)]) {
      const stranger = stage.connect().hello({ workerId: ID, secret, slots: 5, connection: 99 });
      assert.equal(stranger.closedWith?.code, "PERMISSION_DENIED");
      assert.match(stranger.closedWith?.detail ?? "", /worker_id: .*secret/);
    }
    assert.equal(honest.closedWith, null);
    assert.deepEqual(stage.reportsOf("WORKER_LOST"), []);
    honest.finish(...honest.assigns);
    assert.equal(stage.reportsOf("FINISHED").length, 1);
  });

  it("is known to every gateway, also to one that never heard of the worker", () => {
    const other = new Stage("node-2");
    assert.equal(other.connect().hello({ workerId: ID }).closedWith?.code, "PERMISSION_DENIED");
    const worker = other.connect().hello({ workerId: ID, secret: SECRET, connection: 2 });
    assert.equal(worker.received[0]?.welcome?.gateway, "node-2");
    assert.equal(worker.closedWith, null);
  });

  it("lets the worker itself come back after a broken connection", () => {
    const stage = new Stage();
    stage.connect().hello({ workerId: ID, secret: SECRET, connection: 1 }).breakOff();
    const again = stage.connect().hello({ workerId: ID, secret: SECRET, connection: 2 });
    assert.equal(again.closedWith, null);
  });

  it("is not asked of ids that were derived from none, as of an older SDK", () => {
    const stage = new Stage();
    for (const workerId of ["worker-1", "0b7e5d1a-6f5c-4b1e-8d55-5a1f0c9be001"]) {
      assert.equal(stage.connect().hello({ workerId }).closedWith, null);
    }
  });

  it("does not help anybody from outside to speak as a worker within a server", () => {
    const stage = new Stage();
    const stranger = stage.connect().hello({ workerId: builtinWorkerId("node-1") });
    assert.equal(stranger.closedWith?.code, "PERMISSION_DENIED");
  });
});
