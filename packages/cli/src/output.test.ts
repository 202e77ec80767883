import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { facts, table } from "./output.ts";

describe("output for people", () => {
  it("aligns columns under their headings", () => {
    assert.equal(table(["ID", "STATE"], [["a-long-id", "DEAD"]]), "ID         STATE\na-long-id  DEAD");
  });

  it("aligns values behind their names", () => {
    assert.equal(
      facts([
        ["state", "DEAD"],
        ["pool", "p"],
      ]),
      "state  DEAD\npool   p",
    );
  });

  it("shows control characters instead of letting the terminal obey them", () => {
    assert.equal(table(["ERROR"], [["\u001b[2Jgone\n"]]), "ERROR\n\\u001b[2Jgone\\n");
  });
});
