import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { task } from "@mainspring/sdk";
import fc from "fast-check";
import { fillKey, type KeyTemplate, parseKey } from "./key-template.ts";

const filled = (template: string, payload: unknown) => fillKey(parseKey(template) as KeyTemplate, payload);

describe("a key with placeholders", () => {
  it("takes fields of the payload", () => {
    const payload = { customer: { id: 7, isNew: false }, tags: ["a"], name: "Ada" };
    assert.equal(filled("c-{payload.customer.id}/{payload.name}", payload), "c-7/Ada");
    assert.equal(filled("{payload.customer.isNew}{payload.tags.0}", payload), "falsea");
    assert.equal(filled("constant", null), "constant");
  });

  it("names the field that the payload lacks", () => {
    for (const payload of [null, {}, { a: null }, { a: { b: {} } }, { a: [] }, "text", { a: { b: null } }])
      assert.deepEqual(filled("{payload.a.b}", payload), { missing: "payload.a.b" }, JSON.stringify(payload));
    assert.deepEqual(filled("{payload.constructor}", {}), { missing: "payload.constructor" });
    assert.deepEqual(filled("{payload.__proto__}", {}), { missing: "payload.__proto__" });
  });

  it("is refused where a brace belongs to no placeholder, or a placeholder is no path", () => {
    for (const text of ["{", "}", "a}b", "{a", "{{payload.a}", "{payload.a}}"])
      assert.match(String(parseKey(text)), /has a brace/, text);
    for (const text of ["{}", "{payload}", "{payload.}", "{payload.a.}", "{body.a}", "{payload.a b}", "{payload.a[0]}"])
      assert.match(String(parseKey(text)), /has the placeholder .*: write \{payload\.field\}/, text);
  });

  it("is the same in the SDK: a task takes and fills in the same keys", async () => {
    const piece = fc.constantFrom("a", "-", "{", "}", "payload", ".", ".x", "{payload.x}", "{payload.x.y}", "é", " ");
    const value = fc.constantFrom("v", 1, 1.5, true, null, {}, [], { y: 2 });
    const check = fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 5 }), value, async (pieces, x) => {
      const key = pieces.join("");
      const template = parseKey(key);
      const make = () => task<{ x: unknown }, null>({ name: "t", uniqueKey: key, run: () => null });
      if (typeof template === "string") return assert.throws(make, { code: "BAD_OPTION" });
      const made = fillKey(template, { x });
      const job = make().job({ x });
      if (typeof made === "string") assert.equal((await job).uniqueKey, made);
      else await assert.rejects(job, { code: "INVALID_PAYLOAD" });
    });
    await fc.assert(check, { seed: 23 });
  });
});
