import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nameWarning } from "./name-warning.ts";

describe("names that the next release refuses", () => {
  it("have a control of the second set, or a character that changes the direction of writing or has no picture", () => {
    const refused = [
      "\u0080",
      "\u0085",
      "\u009b",
      "\u009f",
      "\u061c",
      "\u200e",
      "\u200f",
      "\u202a",
      "\u202e",
      "\u2066",
      "\u2069",
      "\u00ad",
      "\u200b",
      "\u2028",
      "\u2029",
      "\u2060",
      "\ufeff",
    ];
    for (const character of refused) {
      const code = `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
      const warning = nameWarning("name", `before${character}after`);
      assert.equal(warning, `name has the control character ${code}, which the next release refuses: leave it out`);
    }
  });

  it("are no others: letters of every script, and joiners, stay", () => {
    for (const name of [
      "",
      "nightly report",
      "mail@1",
      "é 😀",
      "שלום",
      "تقرير",
      "ni\u200dght",
      "می\u200cشود",
      "\u00a0",
      "\u2065",
      "\u206a",
    ]) {
      assert.equal(nameWarning("name", name), null, JSON.stringify(name));
    }
  });
});
