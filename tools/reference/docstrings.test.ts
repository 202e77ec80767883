import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { splitDefault } from "./docstrings.ts";

describe("a docstring of an option", () => {
  it("is split into its meaning and its default", () => {
    const cases: [docstring: string, meaning: string, fallback: string][] = [
      ["Slots; 1 to 10_000, default 20.", "Slots; 1 to 10_000.", "20"],
      ["Address. Default: http://127.0.0.1:8080.", "Address.", "http://127.0.0.1:8080"],
      [
        "Key; default: the variable KEY; without a key none is sent.",
        "Key. Without a key none is sent.",
        "the variable KEY",
      ],
      ["Limit, default 1. Excludes `b`.", "Limit. Excludes `b`.", "1"],
      ["Default: 0.5.", "", "0.5"],
    ];
    for (const [docstring, meaning, fallback] of cases) {
      assert.deepEqual(splitDefault(docstring), { meaning, fallback }, docstring);
    }
  });

  it("keeps its text where it names no default of the option as a whole", () => {
    for (const docstring of ["SHIFT (default) fires once.", "The default pool.", ""]) {
      assert.deepEqual(splitDefault(docstring), { meaning: docstring, fallback: "" });
    }
  });
});
