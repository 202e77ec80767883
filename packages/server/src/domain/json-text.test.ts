import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { jsonFault } from "./json-text.ts";

const fault = (text: string, depthMax = 128) => jsonFault(new TextEncoder().encode(text), depthMax);

describe("whether a text is one JSON value", () => {
  for (const text of [
    "0",
    "-0.5e+10",
    '"\\u0000\\ud800"',
    " [ ] ",
    '{"a":[{},null,true,false]}',
    '"ä𝄞"',
    "\t[1,\r\n2]",
  ]) {
    it(`takes ${JSON.stringify(text)}`, () => assert.equal(fault(text), null));
  }
  const wrong: [string, RegExp][] = [
    ["", /ends too early/],
    ['null,"state":"DEAD"', /byte 4/],
    ["{} {}", /byte 3/],
    ["[1,]", /byte 3/],
    ["[,1]", /byte 1/],
    ['{"a" 1}', /byte 5/],
    ['{"a":1,}', /byte 7/],
    ["[1}", /byte 2/],
    ["]", /byte 0/],
    ['"\n"', /byte 0/],
    ['"\\x41"', /byte 0/],
    ["01", /byte 1/],
    ["1.", /ends too early/],
    ["+1", /byte 0/],
    ["NaN", /byte 0/],
    ["\ufeff1", /byte 0/],
    ["tru", /byte 0/],
    ["[[[", /ends too early/],
  ];
  for (const [text, where] of wrong) {
    it(`refuses ${JSON.stringify(text)} and says where it goes wrong`, () => assert.match(fault(text) ?? "", where));
  }

  it("bounds how deep arrays and objects are nested", () => {
    assert.equal(fault("[".repeat(128) + "]".repeat(128)), null);
    assert.match(fault('{"a":'.repeat(129)) ?? "", /deeper than 128 levels/);
    assert.match(fault("[".repeat(1_000_000)) ?? "", /deeper than 128 levels/);
    assert.equal(fault("1", 0), null);
  });

  it("judges as JSON.parse does, on JSON and on JSON that was damaged", () => {
    const part = fc.constantFrom(...'[]{},:"\\u0e+-.1tnaf \n');
    const damage = fc.record({ at: fc.nat(), cut: fc.nat(3), put: fc.array(part, { maxLength: 3 }) });
    const texts = fc.oneof(
      fc.tuple(fc.json(), fc.option(damage)).map(([json, change]) => damaged(json, change)),
      fc.array(part, { maxLength: 12 }).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        assert.equal(fault(text) === null, isParsed(text), text);
      }),
      { numRuns: 20_000 },
    );
  });
});

function damaged(json: string, change: { at: number; cut: number; put: string[] } | null): string {
  if (change === null) return json;
  const at = change.at % (json.length + 1);
  return json.slice(0, at) + change.put.join("") + json.slice(at + change.cut);
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
