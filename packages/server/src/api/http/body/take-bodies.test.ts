import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { it } from "node:test";
import type { FastifyRequest } from "fastify";
import { systemRuntime } from "../../../adapters/system/system-runtime.ts";
import { BodyBudget } from "./body-budget.ts";
import { JobParts } from "./json-parts.ts";
import { type BodyScope, takeBodies } from "./take-bodies.ts";

type Parser = (
  request: FastifyRequest,
  payload: PassThrough,
  done: (error: Error | null, body?: unknown) => void,
) => void;

it("bodies that end at the same moment are parsed and handled in turns, within the time that a turn has", async () => {
  const waiting: (() => void)[] = [];
  const turns = { enter: (run: () => void) => void waiting.push(run) };
  let parse: Parser = () => assert.fail("no parser was added");
  const scope = {
    removeAllContentTypeParsers: () => undefined,
    addContentTypeParser: (_type: string, parser: Parser) => (parse = parser),
  };
  const means = { budget: new BodyBudget(), runtime: systemRuntime(), turns };
  takeBodies(scope as unknown as BodyScope, () => new JobParts(), means);
  const taken: unknown[] = [];
  for (const body of ['{"name":"a"}', '{"name":"b"}', "{"]) {
    const payload = new PassThrough();
    const request = { headers: {}, routeOptions: { bodyLimit: 1_000 }, response: null, principal: null };
    parse(request as unknown as FastifyRequest, payload, (error, value) => taken.push(error?.message ?? value));
    const ended = once(payload, "end");
    payload.end(body);
    await ended;
  }
  assert.deepEqual([taken, waiting.length], [[], 3]);
  const counts = waiting.map((run) => {
    run();
    return taken.length;
  });
  assert.deepEqual(counts, [1, 2, 3], "each turn handles what is in it before it ends");
  assert.deepEqual(taken, [{ name: "a" }, { name: "b" }, "the body is not JSON: it ends too early"]);
});
