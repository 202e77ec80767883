import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assignment } from "../../test/executor-scene.ts";
import { packAssigns, unpackAssigns } from "./columns.ts";

describe("assignments as columns", () => {
  it("come back as they were, with their records", () => {
    const recorded = [{ name: "pay", kind: "RESULT", data: "7" } as const];
    const assigns = [assignment("a"), assignment("b", { attempt: 2, recorded, timeoutMs: 9 }), assignment("c")];
    assert.deepEqual(unpackAssigns(structuredClone(packAssigns(assigns))), assigns);
  });

  it("have no field for records where there are none", () => {
    const packed = packAssigns([assignment("a"), assignment("b")]);
    assert.deepEqual(Object.keys(packed), ["executionIds", "handlers", "payloads", "numbers"]);
  });
});
