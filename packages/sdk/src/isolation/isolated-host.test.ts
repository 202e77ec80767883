import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type IsolatedHost, openThread } from "./isolated-host.ts";

const underWay = () => process.getActiveResourcesInfo().filter((kind) => kind !== "Immediate").length;

describe("the thread of an attempt", () => {
  it("is seen to be under way until it is gone", async () => {
    const before = underWay();
    let unseen = 0;
    for (let round = 0; round < 5; round++) {
      const gone = Promise.withResolvers<void>();
      let hasGone = false;
      const exited = () => {
        hasGone = true;
        gone.resolve();
      };
      // The process answers that the module does not exist, and is killed at once, as after a result.
      const host: IsolatedHost = openThread({ message: () => host.kill(), exited });
      host.send({ kind: "RUN", module: "file:///nowhere.mjs", exportName: "default", payload: null, facts: FACTS });
      const look = () => {
        if (hasGone) return;
        if (underWay() <= before) unseen++;
        setImmediate(look);
      };
      look();
      await gone.promise;
    }
    assert.equal(unseen, 0);
  });
});

const FACTS = {
  executionId: "e",
  attempt: 1,
  failures: 0,
  maxAttempts: 1,
  fence: "e/1",
  traceparent: null,
  scheduledAt: new Date(0),
  deadline: new Date(0),
  cancelGraceMs: 0,
};
