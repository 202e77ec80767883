import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseBatchBody, parseJobs } from "./batch-body.ts";
import { ProblemError } from "./errors.ts";
import { parseJsonBody } from "./json-body.ts";
import type { Slice } from "./json-scan.ts";

/** Reads a batch as the route does: first the whole, then its jobs in turns. @param cut where the second turn begins */
function readInParts(bytes: Buffer, cut = 1): unknown {
  const body = parseBatchBody(bytes) as { jobs?: unknown };
  if (!Array.isArray(body?.jobs)) return body;
  const slices = body.jobs as Slice[];
  const jobs = [...parseJobs(bytes, slices.slice(0, cut), 0), ...parseJobs(bytes, slices.slice(cut), cut)];
  return { ...body, jobs };
}

function outcomeOf(read: (bytes: Buffer) => unknown, bytes: Buffer): unknown {
  try {
    return read(bytes);
  } catch (error) {
    assert.ok(error instanceof ProblemError, String(error));
    return "refused";
  }
}

/** Texts that are nearly always wrong, but look like a batch. */
const scrap = fc
  .array(fc.constantFrom("{", "}", "[", "]", ",", ":", '"jobs"', '"a"', "1", "null", " ", '"', "\\", '"x":'), {
    maxLength: 12,
  })
  .map((parts) => parts.join(""));

describe("reading a batch in parts", () => {
  it("finds the same in a body, or refuses the same body, as reading it at once", () => {
    const member = fc.constantFrom('"jobs":', '"other":', '"j\\u006fbs":');
    const body = fc
      .tuple(fc.array(fc.tuple(member, fc.oneof(fc.json(), scrap)), { maxLength: 3 }), scrap)
      .map(([members, tail]) => {
        const text = members.map(([key, value]) => key + value).join(",");
        return `{${text}}${tail.length > 8 ? tail : ""}`;
      });
    const list = fc.tuple(fc.array(fc.oneof(fc.json(), scrap), { maxLength: 3 }), scrap).map(([items, rest]) => {
      return `{"jobs":[${items.join(",")}]${rest.length > 10 ? rest : ""}}`;
    });
    fc.assert(
      fc.property(fc.oneof(body, list, scrap), (text) => {
        const bytes = Buffer.from(text);
        const atOnce = outcomeOf(parseJsonBody, bytes);
        // Nothing at all is no JSON, but no malformed JSON either.
        if (text !== "") assert.deepEqual(outcomeOf(readInParts, bytes), atOnce, text);
      }),
      { numRuns: 5_000 },
    );
  });

  it("complains of a job by its place: of the first that is no JSON, or is nested too deeply", () => {
    const detailOf = (text: string, cut: number) => {
      try {
        return readInParts(Buffer.from(text), cut);
      } catch (error) {
        return error instanceof ProblemError ? error.problem.detail : error;
      }
    };
    for (const cut of [0, 1, 2, 3]) {
      assert.match(String(detailOf('{"jobs":[{"a":1},{"b":},{"c":}]}', cut)), /^jobs\[1\] is not JSON/);
    }
    const nested = (depth: number) => "[".repeat(depth) + "]".repeat(depth);
    assert.deepEqual(detailOf(`{"jobs":[${nested(3)},1]}`, 2), { jobs: [[[[]]], 1] });
    const deep = `{"jobs":[${nested(128)},${nested(129)}]}`;
    assert.match(String(detailOf(deep, 2)), /^jobs\[1\] is nested deeper than 128/);
  });
});
