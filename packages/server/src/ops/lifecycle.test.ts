import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { Lifecycle } from "./lifecycle.ts";

describe("the lifecycle of a node", () => {
  it("stops what was started in the opposite order, once, also past a part that fails to stop", async () => {
    const life = new Lifecycle(pino({ level: "silent" }));
    const stopped: string[] = [];
    for (const name of ["store", "scheduler", "api"]) {
      life.started(name, async () => {
        stopped.push(name);
        if (name === "scheduler") throw new Error("stuck");
      });
    }
    await Promise.all([life.stop(), life.stop()]);
    assert.deepEqual(stopped, ["api", "scheduler", "store"]);
  });
});
