import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BackfillRequest, JobSubmission, PoolSettings, WorkflowNodeSubmission } from "@mainspring/contract";
import fc from "fast-check";
import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import { OversizeJson } from "./body/json-body.ts";
import { faultsOf } from "./faults.ts";
import { compileCheck } from "./validation.ts";

const names = [...Object.keys(JobSubmission.properties), ...Object.keys(PoolSettings.properties), "strange"];
const texts = ["x", "NORMAL", "LOW", "RETRY", "2030-01-01T00:00:00Z", "2030-02-30T00:00:00Z", "a b", "", "\u0007"];
const leaf = fc.oneof(fc.constantFrom(null, true, 0, -1, 5, 1.5, 1e9, ...texts), fc.jsonValue({ maxDepth: 1 }));
const value = fc.letrec((tie) => ({
  node: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("node"), { maxLength: 3 }), tie("object")),
  object: fc.dictionary(fc.constantFrom(...names, "handler", "maxAttempts", "k"), tie("node"), { maxKeys: 6 }),
}));

describe("the faults of a value", () => {
  it("are there where the compiled schema refuses the value, and nowhere else", () => {
    const schemas: TSchema[] = [JobSubmission, PoolSettings, BackfillRequest, WorkflowNodeSubmission];
    for (const schema of schemas) {
      const compiled = Compile(schema);
      fc.assert(
        fc.property(fc.oneof(value.object, value.node), (given) => {
          const [fault] = faultsOf(schema, given);
          assert.equal(fault === undefined, compiled.Check(given), JSON.stringify([given, fault]));
        }),
        { numRuns: 3_000 },
      );
    }
  });

  it("are told in order, each with its place and what would be right", () => {
    const { errors } = compileCheck(JobSubmission);
    assert.deepEqual(
      errors({ target: { handler: 5, requires: ["a", ""] }, priority: 11, labels: { "": "x" } }).map(
        ({ field, message }) => `${field} ${message.slice(0, 60)}`,
      ),
      [
        "target.handler must be a string, not a number",
        "target.requires[1] must have other characters: a capability",
        "priority must be an integer from 0 to 9, or LOW (2), NORMAL (5, the d",
        "labels. may not be called so: up to 64 labels: keys of letters, digi",
      ],
    );
  });

  it("are those of the alternative that has the type of the value, where a union does not describe itself", () => {
    const { errors } = compileCheck(WorkflowNodeSubmission);
    const dependsOn = [{ node: "a", when: "DONE" }, { node: "a", wen: "FAILED" }, "a b", 5];
    const found = errors({ name: "b", target: { handler: "h" }, dependsOn });
    assert.deepEqual(
      found.map(({ field, message }) => `${field} ${message.slice(0, 40)}`),
      [
        "dependsOn[0].when must have other characters: end of the p",
        "dependsOn[1].wen is no field here: the fields are node, w",
        "dependsOn[2] must have other characters: name of a no",
        "dependsOn[3] must be a string or an object",
      ],
    );
  });

  it("are not looked for beyond those that are told", () => {
    let seen = 0;
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, index) => [`strange${index}`, 1]));
    const watched = new Proxy(many, {
      getOwnPropertyDescriptor: (target, name) => {
        if (String(name).startsWith("strange")) seen++;
        return Reflect.getOwnPropertyDescriptor(target, name);
      },
    });
    const found = Array.from({ length: 8 }, (_, index) => `strange${index}`);
    const errors = compileCheck(PoolSettings).errors(watched);
    assert.deepEqual(
      errors.map(({ field }) => field),
      found,
    );
    assert.ok(seen < 100, `${seen} fields were looked at`);
  });

  it("of a text that is too large are its size and those of its head, but not what may follow later", () => {
    const many = `{"strange":1,"name":"${"x".repeat(200_000)}","target":{"handler":"echo"}}`;
    const errors = compileCheck(JobSubmission).errors(new OversizeJson(Buffer.from(many)));
    assert.deepEqual(
      errors.map(({ field, message }) => `${field}: ${message.replace(/:.*/, "")}`),
      [
        ": has 200051 bytes without its payload",
        "strange: is no field here",
        "name: must not have more than 255 characters",
      ],
    );
  });
});
