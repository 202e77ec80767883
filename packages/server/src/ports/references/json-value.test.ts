import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as fc from "fast-check";
import { depthOf } from "./json-slices.ts";
import { JsonValue, type Path } from "./json-value.ts";

/** Text of the part of a JSON text; null: the path leads nowhere. */
function part(json: JsonValue, path: Path): string | null {
  const steps = json.finding(path);
  for (;;) {
    const { done, value } = steps.next();
    if (done !== true) continue;
    return value === null ? null : Buffer.from(json.bytes.subarray(value.start, value.end)).toString();
  }
}

const read = (text: string, ...path: (string | number)[]) => part(new JsonValue(Buffer.from(text)), path);

describe("a part of a JSON text", () => {
  it("is found by names and indexes, and keeps its text", () => {
    const text = ' { "a" : [ 1.50e2 , { "b\\u0063" : 12345678901234567890 } ] , "d": "x\\"]}" , "é": {"": []} } ';
    assert.equal(read(text), text.trim());
    assert.equal(read(text, "a"), '[ 1.50e2 , { "b\\u0063" : 12345678901234567890 } ]');
    assert.equal(read(text, "a", 0), "1.50e2");
    assert.equal(read(text, "a", 1, "bc"), "12345678901234567890");
    assert.equal(read(text, "d"), '"x\\"]}"');
    assert.equal(read(text, "é", ""), "[]");
    assert.equal(read(" 7 "), "7");
    assert.equal(read('{"a":1,"b":2,"a":3}', "a"), "3", "the last member counts, as in JSON.parse");
  });

  it("is nowhere for a name in an array, an index in an object, and a step into another value", () => {
    for (const [text, ...path] of [
      ['{"0":1}', 0],
      ["[1]", "0"],
      ["[1]", "length"],
      ["[1]", 1],
      ["[]", 0],
      ["{}", "constructor"],
      ["{}", "__proto__"],
      ['"ab"', 0],
      ["null", "a"],
      ["7", "a"],
      ['{"a":null}', "a", "b"],
    ] as [string, ...(string | number)[]][])
      assert.equal(read(text, ...path), null, `${text} ${path.join()}`);
  });

  it("is that of the parsed value, for every path into any value", () => {
    const spaced = fc.tuple(fc.jsonValue({ maxDepth: 4 }), fc.integer({ min: 0, max: 2 }));
    fc.assert(
      fc.property(spaced, ([value, space]) => {
        const text = JSON.stringify(value, null, space);
        const parsed: unknown = JSON.parse(text);
        const json = new JsonValue(Buffer.from(text));
        for (const path of pathsInto(parsed)) {
          const found = part(json, path);
          assert.ok(found !== null, `${text} ${JSON.stringify(path)}`);
          assert.deepEqual(JSON.parse(found), at(parsed, path));
          assert.equal(part(json, [...path, "no such name"]), null);
        }
        assert.equal(json.depth, depthOfValue(parsed));
      }),
      { numRuns: 300 },
    );
  });

  it("weighs its text and what it has indexed", () => {
    const text = Buffer.from(JSON.stringify({ list: [1, 2, 3], named: { a: 1, b: 2 } }));
    const json = new JsonValue(text);
    assert.equal(json.weight, text.length);
    assert.equal(part(json, ["list", 2]), "3");
    const once = json.weight;
    assert.ok(once > text.length);
    assert.equal(part(json, ["list", 1]), "2");
    assert.equal(json.weight, once);
  });

  it("has a depth of its own", () => {
    const text = Buffer.from('[[1],{"a":[{"b":"]]]["}]}]');
    assert.equal(depthOf(text, { start: 0, end: text.length }), 4);
    assert.equal(depthOf(text, { start: 1, end: 4 }), 1);
  });
});

function* pathsInto(value: unknown, path: Path = []): Generator<Path> {
  yield path;
  if (typeof value !== "object" || value === null) return;
  const steps = Array.isArray(value) ? value.keys() : Object.keys(value);
  for (const step of steps) yield* pathsInto((value as Record<string, unknown>)[step], [...path, step]);
}

function at(value: unknown, path: Path): unknown {
  return path.reduce((whole, step) => (whole as Record<string, unknown>)[step], value);
}

function depthOfValue(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOfValue));
}
