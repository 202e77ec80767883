import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { NOBODY } from "./json-body.ts";
import { JsonFault, JsonScanner } from "./json-scanner.ts";

const DEPTH = 64;

function scannerOf(text: string, pieceBytes: number): JsonScanner {
  const json = Buffer.from(text);
  const scanner = new JsonScanner(DEPTH, NOBODY, -1);
  for (let until = pieceBytes; until < json.length; until += pieceBytes) scanner.scan(json, until);
  scanner.scan(json, json.length);
  return scanner;
}

function faultOf(text: string, pieceBytes = 7): JsonFault | null {
  try {
    scannerOf(text, pieceBytes).end();
    return null;
  } catch (error) {
    assert.ok(error instanceof JsonFault, String(error));
    return error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const PARTS = [...'{}[],:10-+.eE \n"\\', '"a"', "null", "true", "fals", "\\u12aF", "\\n", "\u0001", "\u00e9"];
const scrap = fc.array(fc.constantFrom(...PARTS), { maxLength: 10 }).map((parts) => parts.join(""));
/** JSON with one character added. */
const spoilt = fc
  .tuple(fc.json(), fc.nat(), fc.constantFrom("", ",", "}", "\\", '"', "0", "-"))
  .map(([text, place, added]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + added + text.slice(at);
  });

describe("the JSON scanner", () => {
  it("takes what JSON.parse takes and nothing else, in pieces of any size", () => {
    const text = fc.oneof(fc.json(), spoilt, scrap);
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 9 }), (text, pieceBytes) => {
        assert.equal(faultOf(text, pieceBytes) === null, isJson(text), text);
      }),
      { numRuns: 20_000 },
    );
  });

  it("names the first byte that is wrong, or that the text ends too early", () => {
    assert.equal(faultOf('{"a":1,}')?.at, 7);
    assert.equal(faultOf("[1 2]")?.at, 3);
    assert.equal(faultOf('["\n"]')?.at, 2);
    assert.equal(faultOf("[tru]")?.at, 4);
    assert.equal(faultOf("[01]")?.at, 2);
    assert.equal(faultOf("[1")?.at, null);
    assert.equal(faultOf("-")?.at, null);
    assert.equal(faultOf("1 1")?.at, 2);
  });

  it("stops at the first bracket that is too deep, before the rest has come", () => {
    assert.equal(faultOf("[".repeat(DEPTH) + "]".repeat(DEPTH)), null);
    const fault = faultOf("[".repeat(1_000_000));
    assert.deepEqual([fault?.kind, fault?.at], ["DEPTH", DEPTH]);
  });

  it("makes any head of a text whole", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), (text, place) => {
        const json = Buffer.from(text);
        const scanner = new JsonScanner(DEPTH, NOBODY, -1);
        scanner.scan(json, 1 + (place % json.length));
        const closed = scanner.closed(json);
        assert.ok(closed === "" || isJson(closed), `${text} became ${closed}`);
      }),
      { numRuns: 5_000 },
    );
    const scanner = new JsonScanner(DEPTH, NOBODY, -1);
    const json = Buffer.from('{"a":[1,"long text"],"b":2}');
    scanner.scan(json, 13);
    assert.equal(scanner.closed(json), '{"a":[1,"long"]}');
  });
});
