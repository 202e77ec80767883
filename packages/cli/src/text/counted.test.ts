import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterStatus, WorkerDetail } from "@mainspring/sdk";
import { statusText } from "./cluster-text.ts";
import { counted } from "./counted.ts";
import { logsText } from "./log-text.ts";
import { workerText } from "./worker-text.ts";

function statusOf(lag: ClusterStatus["lag"]): string {
  return statusText({ node: "n", leader: null, level: 1, nodes: [], shards: [], lag });
}

describe("numbers in sentences", () => {
  it("have the singular for one alone", () => {
    const texts = [0, 1, 2].map((count) => counted(count, "execution"));
    assert.deepEqual(texts, ["0 executions", "1 execution", "2 executions"]);
  });

  it("are told of one execution that waits, and of one silent owner", () => {
    const text = statusOf({ ready: 1, oldestReadyMs: 5, silentOwners: 1 });
    assert.match(text, /^ready +1 execution, the oldest for 5 ms; 1 owner did not answer$/m);
  });

  it("are told of one line that was not kept", () => {
    const logs = { executionId: "e", attempt: 1, url: null, lines: [], droppedLines: 1 };
    assert.match(logsText(logs), /^\(1 earlier line was not kept\)$/m);
    assert.match(logsText({ ...logs, droppedLines: 2 }), /^\(2 earlier lines were not kept\)$/m);
  });

  it("are told of one stuck slot, and of one execution that is not shown", () => {
    const execution = { executionId: "e", attempt: 1, handler: "h", state: "RUNNING", startedAt: null };
    const worker = { handlers: [], capabilities: [], stuck: 1, executions: [execution], executionsTotal: 2 };
    const text = workerText(worker as unknown as WorkerDetail);
    assert.match(text, /^stuck +1: a handler still runs although its attempt is over$/m);
    assert.match(text, /^1 more is not shown$/m);
  });
});
