import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment } from "../../test/executor-scene.ts";
import { finished } from "../../test/session-scene.ts";
import { packAssigns, packFinished, unpackAssigns, unpackFinished } from "./columns.ts";

describe("assignments as columns", () => {
  it("come back as they were, with their records and traceparents", () => {
    const recorded = [{ name: "pay", kind: "RESULT", data: "7" } as const];
    const assigns = [assignment("a"), assignment("b", { attempt: 2, recorded, timeoutMs: 9 }), assignment("c")];
    assigns.push(assignment("d", { traceparent: "00-1-2-01" }));
    assert.deepEqual(unpackAssigns(structuredClone(packAssigns(assigns))), assigns);
  });

  it("have no field for records and traceparents where there are none", () => {
    const packed = packAssigns([assignment("a"), assignment("b")]);
    assert.deepEqual(Object.keys(packed), ["executionIds", "handlers", "payloads", "numbers"]);
  });
});

describe("reports as columns", () => {
  it("come back as they were, with their branches", () => {
    const reports = [finished("a"), finished("b", { branch: "good" }), finished("c")];
    assert.deepEqual(unpackFinished(structuredClone(packFinished(reports))), reports);
  });

  it("have nothing more than their columns where no handler named a branch", () => {
    assert.deepEqual(packFinished([finished("a"), finished("b")]).rare, []);
  });
});
