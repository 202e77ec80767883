import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Destination, matching } from "./places.ts";

const place = (text: string): Destination => ({ kind: "page", text, path: [text], query: {} });

describe("the palette", () => {
  it("lists first the names that begin with the text, and at most twenty", () => {
    const known = [place("Dead letters"), place("Executions"), place("Letters")];
    assert.deepEqual(
      matching(" LETT", known).map(({ text }) => text),
      ["Letters", "Dead letters"],
    );
    assert.deepEqual(matching("nothing", known), []);
    const many = Array.from({ length: 100 }, (_, number) => place(`pool ${number}`));
    assert.equal(matching("", many).length, 20);
  });

  it("leads from an id to its execution, job or run", () => {
    const id = "01890A5D-AC96-774B-BCCE-B302099A8057";
    assert.deepEqual(
      matching(id, []).map(({ path }) => path),
      ["executions", "jobs", "workflows"].map((page) => [page, id.toLowerCase()]),
    );
    assert.deepEqual(matching(id.slice(0, -1), []), []);
  });
});
