import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Scope } from "@mainspring/contract/enums";
import Fastify, { type FastifyInstance } from "fastify";
import { tenantOf } from "../../security/tenant.ts";
import { shareAnswers } from "./shared-answers.ts";

const ACCEPTS_2_SEC = { "cache-control": "max-age=2" };

describe("shared answers", () => {
  let app: FastifyInstance;
  let nowMs: number;
  let reads: number;
  /** Calls that end the reads in progress. */
  let open: (() => void)[];
  let isHeld: boolean;
  let fails: boolean;
  let begun: () => void;

  beforeEach(async () => {
    [nowMs, reads, open, isHeld, fails, begun] = [50_000, 0, [], false, false, () => {}];
    app = Fastify();
    app.decorateRequest("principal", null);
    app.addHook("onRequest", async (request) => {
      const { headers } = request;
      const scopes = new Set((headers["scopes"] ?? "jobs:read").toString().split(" ") as Scope[]);
      const rights = { tenant: tenantOf(String(headers["tenant"] ?? "acme")), scopes };
      const pools = [String(headers["pools"] ?? "*")];
      request.principal = { keyId: String(headers["key"] ?? "one"), source: "STORE", kind: "CLIENT", pools, ...rights };
    });
    shareAnswers(app, { monotonicMs: () => nowMs });
    const read = async () => {
      const count = ++reads;
      if (isHeld) {
        await new Promise<void>((resolve) => {
          open.push(resolve);
          begun();
        });
      }
      if (fails) throw new Error("the store does not answer");
      return { count };
    };
    app.get("/list", { config: { isShared: true } }, read);
    app.get("/alone", read);
    app.post("/list", { config: { isShared: true } }, read);
    await app.ready();
  });
  afterEach(() => app.close());

  const ask = async (headers: Record<string, string> = {}, url = "/list", method: "GET" | "POST" = "GET") =>
    await app.inject({ method, url, headers: { ...ACCEPTS_2_SEC, ...headers } });
  const countOf = async (...asked: Parameters<typeof ask>) => (await ask(...asked)).json<{ count: number }>().count;

  it("are given to clients with the same tenant and rights, with their age, until they are older than the client accepts", async () => {
    assert.equal(await countOf(), 1);
    nowMs += 1_999;
    const again = await ask({ key: "two" });
    assert.deepEqual(again.json(), { count: 1 });
    assert.equal(again.headers.age, "1");
    assert.match(String(again.headers["content-type"]), /^application\/json/);
    nowMs += 1;
    assert.equal(await countOf(), 2);
    assert.equal(await countOf(), 2);
  });

  it("are never those of another tenant, address or right", async () => {
    const others = [{ tenant: "bolt" }, { scopes: "jobs:read metrics:read" }, { pools: "gpu" }];
    await ask();
    for (const [index, other] of others.entries()) assert.equal(await countOf(other), index + 2);
    assert.equal(await countOf({}, "/list?state=DEAD"), 5);
    assert.equal(await countOf(), 1);
  });

  it("are not given to a client that does not say how old they may be, nor for a change, nor on other routes", async () => {
    await ask();
    for (const header of ["", "no-cache", "max-age=0", "max-age=-1", "max-age=2, no-store"]) {
      const before = reads;
      assert.equal(await countOf({ "cache-control": header }), before + 1);
    }
    for (const [url, method] of [
      ["/list", "POST"],
      ["/alone", "GET"],
    ] as const) {
      const before = reads;
      assert.equal(await countOf({}, url, method), before + 1);
    }
  });

  it("are at most ten seconds old, whatever the client accepts", async () => {
    const patient = { "cache-control": "max-age=999999999" };
    assert.equal(await countOf(patient), 1);
    nowMs += 9_999;
    assert.equal(await countOf(patient), 1);
    nowMs += 1;
    assert.equal(await countOf(patient), 2);
  });

  it("are waited for while they are made", async () => {
    isHeld = true;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const first = ask();
    await started;
    const others = [ask(), ask({ key: "two" })];
    await new Promise(setImmediate);
    for (const end of open) end();
    assert.deepEqual(
      (await Promise.all([first, ...others])).map((answer) => answer.json<{ count: number }>().count),
      [1, 1, 1],
    );
  });

  it("are only good ones: after an error everybody who waited reads anew", async () => {
    [isHeld, fails] = [true, true];
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const [first, second] = [ask(), ask()];
    await started;
    isHeld = false;
    for (const end of open) end();
    assert.equal((await first).statusCode, 500);
    assert.equal((await second).statusCode, 500);
    assert.equal(reads, 2);
    fails = false;
    assert.equal(await countOf(), 3);
  });

  it("are kept for the newest reads alone", async () => {
    for (let page = 0; page < 200; page++) await ask({}, `/list?cursor=${page}`);
    assert.equal(await countOf({}, "/list?cursor=0"), 1);
    await ask({}, "/list?cursor=200");
    assert.equal(await countOf({}, "/list?cursor=1"), 2);
    assert.equal(await countOf({}, "/list?cursor=0"), 202);
  });
});
