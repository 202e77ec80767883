import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { depthOf, elementsOf, memberOf } from "./json-scan.ts";

const space = fc.constantFrom("", " ", "\n\t ", "\r\n");
/** Texts of the same value, but with spaces in any place and strings in any of their spellings. */
const jsonText = fc.tuple(fc.jsonValue({ maxDepth: 4 }), space).map(([value, gap]) => {
  const text = JSON.stringify(value, null, gap.replace(/[\r\t]/g, " "));
  return gap + (gap === "\n\t " ? text.replaceAll("a", "\\u0061").replaceAll("\\\\u0061", "a") : text);
});
const validText = jsonText.filter((text) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
});

describe("the JSON scanner", () => {
  it("finds a member's bytes wherever they stand, and what else is there makes no difference", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.string(), validText)),
        validText,
        fc.nat(),
        space,
        (others, payload, at, gap) => {
          const members = others
            .filter(([key]) => key !== "payload")
            .map(([key, text]) => `${JSON.stringify(key)}${gap}:${text}`);
          members.splice(at % (members.length + 1), 0, `${gap}"payload"${gap}:${gap}${payload.trim()}${gap}`);
          const body = Buffer.from(`${gap}{${members.join(",")}}`);
          const slice = memberOf(body, 0, "payload");
          assert.ok(slice);
          assert.equal(body.toString("utf8", slice.start, slice.end), payload.trim());
        },
      ),
    );
  });

  it("finds the elements of an array as they were written", () => {
    fc.assert(
      fc.property(fc.array(validText), space, (texts, gap) => {
        const body = Buffer.from(`${gap}[${texts.join(`${gap},${gap}`)}${gap}]`);
        const found = elementsOf(body, 0)?.map(({ start, end }) => body.toString("utf8", start, end));
        assert.deepEqual(
          found,
          texts.map((text) => text.trim()),
        );
      }),
    );
  });

  it("finds no elements in what is no well-formed list", () => {
    for (const text of ["{}", "1", "", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}"]) {
      assert.equal(elementsOf(Buffer.from(text), 0), null, text);
    }
  });

  it("agrees with the parser about keys: escapes count, and of repeated ones the last", () => {
    const body = Buffer.from('{"p\\u0061yload":1,"a":{"payload":2},"payload":[3],"xpayload":4}');
    const slice = memberOf(body, 0, "payload");
    assert.equal(body.toString("utf8", slice?.start, slice?.end), "[3]");
    const escaped = Buffer.from('{"p\\u0061yload":1}');
    assert.deepEqual(memberOf(escaped, 0, "payload"), { start: 16, end: 17 });
    assert.equal(memberOf(Buffer.from('{"a":"payload"}'), 0, "payload"), null);
    assert.equal(memberOf(Buffer.from("[1]"), 0, "payload"), null);
  });

  it("measures depth outside of strings only", () => {
    for (const [text, depth] of [
      ["1", 0],
      ["[]", 1],
      ['{"a":["[[[\\"[["]}', 2],
      ["[[],[[]]]", 3],
    ] as const) {
      assert.equal(depthOf(Buffer.from(text)), depth, text);
    }
  });

  it("ends on whatever it is given", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 200 }),
        fc.string({ unit: fc.constantFrom(...'{}[]":,\\ 1a') }),
        (bytes, text) => {
          for (const body of [Buffer.from(bytes), Buffer.from(text)]) {
            depthOf(body);
            memberOf(body, 0, "payload");
            assert.ok((elementsOf(body, 0)?.length ?? 0) <= body.length);
          }
        },
      ),
    );
  });
});
