import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { ProblemError } from "../errors.ts";
import { BodyBudget } from "./body-budget.ts";
import { BodyReader } from "./body-reader.ts";
import { OversizeJson } from "./json-body.ts";
import { BatchParts, type BodyParts, groupsOf, JobParts, type JobSlice, parseJobs } from "./json-parts.ts";

function received(text: string | Buffer, parts: BodyParts, pieceBytes = 11, limitBytes = 1e9) {
  const budget = new BodyBudget();
  const reader = new BodyReader({ limitBytes, parts, share: budget.share(), hashed: "POST /x\n" });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) reader.take(bytes.subarray(at, at + pieceBytes));
  return reader.end();
}

function detailOf(read: () => unknown): string {
  try {
    read();
    return "taken";
  } catch (error) {
    assert.ok(error instanceof ProblemError, String(error));
    return error.problem.detail ?? "";
  }
}

/** Reads the payloads and jobs of a batch, as the route does. */
function readBatch(text: string, pieceBytes = 11) {
  const { bytes, parts } = received(text, new BatchParts(), pieceBytes);
  const value = parts.valueOf(bytes) as { jobs?: JobSlice[] };
  const slices = Array.isArray(value?.jobs) ? value.jobs : [];
  const jobs = groupsOf(slices).flatMap((group) => parseJobs(bytes, group));
  const payloads = slices.map(({ payload }) => payload && bytes.toString("utf8", payload.start, payload.end));
  return { value, jobs, payloads };
}

const space = fc.constantFrom("", " ", "\n\t ");
const key = fc.constantFrom("payload", "p\\u0061yload", "other", "xpayload");
const job = fc
  .array(fc.tuple(key, fc.json(), space), { maxLength: 4 })
  .map((members) => `{${members.map(([name, text, gap]) => `${gap}"${name}"${gap}:${gap}${text}${gap}`).join(",")}}`);

describe("a body that is read as it comes in", () => {
  it("keeps the payload byte for byte, of a repeated key the last, and parses all else", () => {
    fc.assert(
      fc.property(job, fc.integer({ min: 1, max: 40 }), (text, pieceBytes) => {
        const { bytes, parts } = received(text, new JobParts(), pieceBytes);
        const whole = JSON.parse(text) as Record<string, unknown>;
        const { payload } = parts as JobParts;
        const kept = payload === null ? undefined : JSON.parse(bytes.toString("utf8", payload.start, payload.end));
        assert.deepEqual(kept, whole["payload"]);
        if (payload !== null) whole["payload"] = null;
        assert.deepEqual(parts.valueOf(bytes), whole);
      }),
      { numRuns: 2_000 },
    );
  });

  it("finds the jobs of a batch, and the payload of each", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof(job, fc.json()), { maxLength: 5 }),
        fc.integer({ min: 1, max: 40 }),
        (texts, size) => {
          const { jobs, payloads } = readBatch(`{"a":1,"jobs":[${texts.join(" , ")}],"b":[{"payload":2}]}`, size);
          const whole = texts.map((text) => JSON.parse(text));
          for (const [index, expected] of whole.entries()) {
            const isObject = typeof expected === "object" && expected !== null && !Array.isArray(expected);
            const has = isObject && Object.hasOwn(expected, "payload");
            assert.deepEqual(JSON.parse(payloads[index] ?? "null"), has ? expected.payload : null);
            assert.deepEqual(jobs[index], has ? { ...expected, payload: null } : expected);
          }
          assert.equal(jobs.length, whole.length);
        },
      ),
      { numRuns: 2_000 },
    );
    assert.deepEqual(readBatch('{"jobs":[1],"jobs":{"payload":[2]}}').value, { jobs: { payload: [2] } });
    assert.deepEqual(readBatch('{"jobs":{"a":1},"j\\u006fbs":[2]}').jobs, [2]);
    assert.deepEqual(readBatch('[["jobs"]]').value, [["jobs"]]);
  });

  it("refuses a batch at the first job that is too many, while the rest is still to come", () => {
    assert.equal(readBatch(`{"jobs":[1${",1".repeat(9_999)}]}`, 4_096).jobs.length, 10_000);
    const endless = `{"jobs":[1${",1".repeat(10_000)}`;
    assert.match(
      detailOf(() => readBatch(endless, 4_096)),
      /^jobs: must not have more than 10000 items$/,
    );
    assert.match(
      detailOf(() => readBatch(`{"jobs":{"a":1${',"a":1'.repeat(20_000)}}}`, 4_096)),
      /^taken$/,
    );
  });

  it("complains by place, and quotes nothing of the body", () => {
    assert.equal(
      detailOf(() => received('{"a":1,\n "b" 2}', new JobParts())),
      "the body is not JSON: look at position 13 (line 2 column 6)",
    );
    assert.match(
      detailOf(() => readBatch('{"jobs":[{"a":1},{"b":},{"c":}]}')),
      /^jobs\[1\] is not JSON: look at pos/,
    );
    assert.match(
      detailOf(() => readBatch('{"jobs":[1],}')),
      /^the body is not JSON/,
    );
    assert.match(
      detailOf(() => readBatch('{"jobs":["a')),
      /^jobs\[0\] is not JSON: it ends too early$/,
    );
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    assert.equal(
      detailOf(() => readBatch(`{"jobs":[${nested(128)}]}`)),
      "taken",
    );
    assert.match(
      detailOf(() => readBatch(`{"jobs":[1,${nested(129)}]}`)),
      /^jobs\[1\] is nested deeper than 128/,
    );
    assert.match(
      detailOf(() => received(nested(129), new JobParts())),
      /^the body is nested deeper than 128/,
    );
  });

  it("takes characters that are cut in two, and refuses bytes that are none", () => {
    const text = '{"name":"\u00e9\u20ac\u{1f600}x"}';
    for (let size = 1; size < 9; size++) {
      const { bytes, parts } = received(text, new JobParts(), size);
      assert.deepEqual(parts.valueOf(bytes), JSON.parse(text));
    }
    for (const wrong of [[0xff], [0xc3], [0xe2, 0x82], [0xed, 0xa0, 0x80], [0xc0, 0x80]]) {
      const bytes = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(wrong), Buffer.from('"}')]);
      for (const size of [1, 2, 3, 100]) {
        assert.match(
          detailOf(() => received(bytes, new JobParts(), size)),
          /^the body is not valid UTF-8$/,
        );
      }
    }
  });

  it("hashes what came, whatever the pieces", () => {
    const text = `{"a":"${"x".repeat(10_000)}"}`;
    const hash = createHash("sha256").update(`POST /x\n${text}`).digest("hex");
    for (const size of [1, 999, 20_000]) assert.equal(received(text, new JobParts(), size).hash, hash);
  });

  it("refuses what is too large when it has come, and not when it is announced", () => {
    assert.equal(
      detailOf(() => received('"123"', new JobParts(), 2, 5)),
      "taken",
    );
    assert.match(
      detailOf(() => received('"1234"', new JobParts(), 2, 5)),
      /^the body is larger/,
    );
  });

  it("parses no more than the head of what is too large beside its payload", () => {
    const large = `{"payload":1,"name":"${"x".repeat(200_000)}"}`;
    const { bytes, parts } = received(large, new JobParts(), 4_096);
    const value = parts.valueOf(bytes);
    assert.ok(value instanceof OversizeJson);
    assert.match(value.fault.message, /^has 200026 bytes without its payload: at most 131072/);
    assert.equal((value.head as { name: string }).name.length < 40_000, true);
    const batch = readBatch(`{"jobs":[1,{"a":"${"x".repeat(200_000)}"},2]}`, 4_096);
    assert.deepEqual([batch.jobs[0], batch.jobs[1] instanceof OversizeJson, batch.jobs[2]], [1, true, 2]);
  });
});
