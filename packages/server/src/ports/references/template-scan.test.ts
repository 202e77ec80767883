import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { scanningTemplate } from "./template-scan.ts";

function scanned(text: string) {
  const steps = scanningTemplate(Buffer.from(text));
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}

/** References of a text: the text that each replaces, its depth, and its target; of a literal its value. */
function editsOf(text: string): unknown[] {
  const found = scanned(text);
  assert.ok("edits" in found, JSON.stringify(found));
  const cut = ({ start, end }: { start: number; end: number }) => Buffer.from(text).subarray(start, end).toString();
  return found.edits.map((edit) => {
    const place = [cut(edit.at), edit.depth];
    if ("value" in edit) return [...place, cut(edit.value)];
    if ("index" in edit) return [...place, "index"];
    if ("results" in edit) return [...place, "results", edit.results];
    return "item" in edit ? [...place, "item", edit.item] : [...place, edit.from, edit.path];
  });
}

describe("references in a payload", () => {
  it("are found at any depth, with the arrays and objects around them", () => {
    const whole = '{"$from":"a"}';
    assert.deepEqual(editsOf(whole), [[whole, 0, "a", []]]);
    const second = '{ "path": ["x", 3], "\\u0024from": "$input" }';
    assert.deepEqual(editsOf(`{"é": [1, ${whole}, {"b": ${second}}], "c": {"d": "$from"}}`), [
      [whole, 2, "a", []],
      [second, 3, "$input", ["x", 3]],
    ]);
  });

  it("are none in strings, values and keys without the sign", () => {
    assert.deepEqual(editsOf('["$from", {"from$": 1, "a": "{\\"$from\\":\\"a\\"}", "\\\\$b": "$c"}]'), []);
    for (const plain of ["1", '"$from"', "null", "[]", "{}"]) assert.deepEqual(editsOf(plain), []);
  });

  it("are none within a literal, which stands for its value", () => {
    const literal = '{"$literal": {"$from": 7, "$x": [{"$literal": 1}]} }';
    assert.deepEqual(editsOf(`[${literal}, 2]`), [[literal, 1, '{"$from": 7, "$x": [{"$literal": 1}]}']]);
  });

  it("to the item of a map, and to its index, are found", () => {
    const item = '{"path":["a",1],"$item":true}';
    const text = `[${item},{"$item":true},{"$index":true}]`;
    const whole = ['{"$item":true}', 1, "item", []];
    const results = '{"\\u0024results" : "a.b"}';
    assert.deepEqual(editsOf(`[1,[${results}]]`), [[results, 2, "results", "a.b"]]);
    assert.deepEqual(editsOf(text), [[item, 1, "item", ["a", 1]], whole, ['{"$index":true}', 1, "index"]]);
  });

  it("are refused with the reason where they are wrong", () => {
    const problems: [string, RegExp][] = [
      ['{"$from":"a","x":1}', /key x: it takes \$from and path/],
      ['{"x":1,"$from":"a"}', /key x/],
      ['{"$from":7}', /\$from is the name of a node, or "\$input"/],
      ['{"$from":"a b"}', /\$from is the name/],
      ['{"$from":"$output"}', /\$from is the name/],
      ['{"$from":"a","path":"x"}', /path is a list/],
      ['{"$from":"a","path":[-1]}', /path is a list/],
      ['{"$from":"a","path":[1.5]}', /path is a list/],
      ['{"$from":"a","path":[null]}', /path is a list/],
      ['{"$from":"a","path":[{"$from":"b"}]}', /path is a list/],
      [`{"$from":"a","path":[${Array(33).fill("1").join()}]}`, /up to 32 names/],
      [`{"$from":"a","path":["${"x".repeat(257)}"]}`, /path is a list/],
      ['{"$item":1}', /\{"\$item": true\} with a path or without, and \{"\$index": true\} are taken/],
      ['[{"$index":true,"path":[]}]', /are taken/],
      ['{"$item":true,"$index":true}', /are taken/],
      ['{"$item":true,"x":1}', /beside \$item it takes nothing but a path/],
      ['{"$item":true,"path":[-1]}', /path is a list/],
      ['{"$results":7}', /\$results is the name of a map/],
      ['{"$results":"$input"}', /\$results is the name of a map/],
      ['{"$results":"a","path":[0]}', /with the key path: it takes \$results alone/],
      ['{"$results":"a","$from":"b"}', /with the key \$from: it takes \$results alone/],
      [`{"$results":"${"x".repeat(70_000)}"}`, /a reference of \d+ bytes/],
      ['{"a":{"$b":1}}', /the key \$b: keys that begin with \$ are reserved; \{"\$literal"/],
      ['{"$literal":1,"b":2}', /"\$literal" beside other keys/],
      [`[${Array(1_001).fill('{"$from":"a"}').join()}]`, /more than 1000 references/],
      [`{"$from":"a","path":["${"x".repeat(70_000)}"]}`, /a reference of \d+ bytes/],
    ];
    for (const [text, reason] of problems) {
      const found = scanned(text);
      assert.ok("problem" in found, text.slice(0, 80));
      assert.match(found.problem, reason);
      assert.ok(found.problem.length < 400);
    }
  });
});
