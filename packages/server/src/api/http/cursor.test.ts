import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { ProblemError } from "./errors.ts";

const ID = "019a0000-0000-7000-8000-000000000000";

describe("cursors", () => {
  it("bring back the id that they were made of, in their own list only", () => {
    const cursor = encodeCursor("jobs", ID) ?? "";
    assert.equal(decodeCursor("jobs", cursor), ID);
    assert.throws(() => decodeCursor("executions", cursor), ProblemError);
    assert.equal(decodeCursor("jobs", undefined), null);
    assert.equal(encodeCursor("jobs", null), null);
  });

  it("are refused unless the server could have made them", () => {
    const cursor = encodeCursor("jobs", ID) ?? "";
    const made = (text: string) => Buffer.from(text).toString("base64url");
    for (const forged of ["", "!", `${cursor}=`, cursor.slice(1), made("jobs:"), made(`jobs:${ID}' or 1`), made(ID)]) {
      assert.throws(() => decodeCursor("jobs", forged), ProblemError, forged);
    }
  });
});
