import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { workerIdOf } from "@mainspring/proto";
import { ownedPool } from "../../domain/pool.ts";
import type { Principal } from "../../ports/authenticator.ts";
import { LOOPBACK } from "../../security/settings-keys.ts";
import { tenantOf } from "../../security/tenant.ts";
import { held, NODE, Stage, stageWithWorker, type WorkerEnd } from "../gateway.fixture.ts";

function linesOf(stage: Stage): string[] {
  return stage.logged.filter((line) => line.includes("with a name that the next release refuses"));
}

function warningsOf(stage: Stage): string[] {
  return linesOf(stage).map((line) => JSON.parse(line).warning);
}

describe("what a worker may say first", () => {
  const refusals: [string, (worker: WorkerEnd) => void, string, RegExp][] = [
    ["no hello", (worker) => worker.heartbeat(), "INVALID_ARGUMENT", /first message .* must carry hello/],
    [
      "a newer version",
      (w) => w.hello({ protocolVersion: 9 }),
      "FAILED_PRECONDITION",
      /9 is not known.* speaks 1: upg/,
    ],
    ["no version", (w) => w.hello({ protocolVersion: 0 }), "FAILED_PRECONDITION", /0 is not known.*: use a newer SDK/],
    ["no slots", (w) => w.hello({ slots: 0 }), "INVALID_ARGUMENT", /slots: 1 to 10000 are allowed, not 0/],
    ["too much prefetch", (w) => w.hello({ prefetch: 100_001 }), "INVALID_ARGUMENT", /prefetch: 0 to 100000/],
    ["no handlers", (w) => w.hello({ handlers: [] }), "INVALID_ARGUMENT", /handlers: 1 to 1000 are allowed, not 0/],
    ["a nameless handler", (w) => w.hello({ handlers: [""] }), "INVALID_ARGUMENT", /handlers: 1 to 128 characters/],
    ["a long name", (w) => w.hello({ name: "n".repeat(129) }), "INVALID_ARGUMENT", /name: .* not 129/],
    ["a NUL", (w) => w.hello({ workerId: "a\u0000" }), "INVALID_ARGUMENT", /worker_id: control characters/],
    ["no such shard", (w) => w.hello({ holds: [held(1, 64)] }), "INVALID_ARGUMENT", /shard from 0 to 63/],
    ["too many", (w) => w.hello({ holds: [1, 2, 3, 4].map((n) => held(n)) }), "INVALID_ARGUMENT", /4 unfinished/],
  ];
  for (const [what, say, code, detail] of refusals) {
    it(`refuses ${what} and says what would be right`, () => {
      const stage = new Stage();
      stage.own();
      const worker = stage.connect();
      say(worker);
      assert.equal(worker.closedWith?.code, code);
      assert.match(worker.closedWith?.detail ?? "", detail);
      assert.deepEqual(stage.reportsOf("WORKER_UP"), []);
    });
  }

  const keyOf = (keyId: string, pools = ["*"]): Principal => {
    const rights = {
      kind: "WORKER" as const,
      tenant: tenantOf(null),
      scopes: new Set(["worker:serve" as const]),
      pools,
    };
    return { keyId, source: "STORE", ...rights };
  };

  it("lets no key of the store take over the worker of another key", () => {
    const stage = new Stage();
    stage.own();
    const old = stage.connect(LOOPBACK).hello();
    const thief = stage.connect(keyOf("another")).hello({ connection: 7 });
    assert.equal(thief.closedWith?.code, "PERMISSION_DENIED");
    assert.match(thief.closedWith?.detail ?? "", /worker_id: .* derived from a secret/);
    const secret = "the-secret-of-a-worker";
    const workerId = workerIdOf(secret) ?? "";
    const own = stage.connect(keyOf("one")).hello({ workerId, secret });
    const guess = stage.connect(keyOf("another")).hello({ workerId, secret: "the-secret-of-a-thief", connection: 7 });
    assert.equal(guess.closedWith?.code, "PERMISSION_DENIED");
    assert.deepEqual([old.closedWith, own.closedWith], [null, null]);
  });

  it("lets another key with the worker's secret not take the worker over, but the key that replaces its own", () => {
    const stage = new Stage();
    stage.own();
    const secret = "the-secret-of-a-worker";
    const hello = { workerId: workerIdOf(secret) ?? "", secret };
    const own = stage.connect(keyOf("one")).hello({ ...hello, connection: 1 });
    const foreign = { ...keyOf("two"), tenant: tenantOf("acme") };
    for (const key of [keyOf("two"), { ...keyOf("one"), tenant: tenantOf("acme") }, foreign]) {
      const thief = stage.connect(key).hello({ ...hello, connection: 7 });
      assert.equal(thief.closedWith?.code, "PERMISSION_DENIED");
    }
    const codeOfOwn = () => own.closedWith?.code ?? null;
    assert.equal(codeOfOwn(), null);
    const rotated = stage.connect({ ...keyOf("three"), line: "one" }).hello({ ...hello, connection: 2 });
    assert.deepEqual([rotated.closedWith, codeOfOwn()], [null, "ABORTED"]);
    assert.equal(stage.connect(keyOf("one")).hello({ ...hello, connection: 3 }).closedWith, null);
  });

  it("has the workers of a tenant serve its own pools, under their stored names, and no other ones", () => {
    const own = ownedPool("acme", "gpu");
    const poolOf = (tenant: string, name: string) => (tenant === "acme" && name === "gpu" ? own : name);
    const stage = new Stage(NODE, undefined, undefined, undefined, undefined, undefined, {
      ...{ poolOf, allowsPool: () => true },
    });
    stage.own();
    const of = (tenant: string) => ({ ...keyOf(tenant), tenant: tenantOf(tenant) });
    const hello = (secret: string, pool: string) => ({ workerId: workerIdOf(secret) ?? "", secret, pool });
    const detail = (name: string) =>
      stage.connect(of("other")).hello(hello(`secret-of-${name}-workers`, name)).closedWith;
    assert.deepEqual(
      ["gpu", "default", "unknown"].map((name) => detail(name)?.detail.replaceAll(name, "?")),
      Array(3).fill("pool: the tenant of the key owns no pool ?: a tenant's workers serve its own pools alone"),
    );
    assert.deepEqual(stage.reportsOf("WORKER_UP"), []);
    assert.equal(stage.connect(of("acme")).hello(hello("secret-of-acme-workers", "gpu")).closedWith, null);
    const shared = stage.connect(keyOf("operators")).hello(hello("secret-of-operators", "gpu"));
    assert.equal(shared.closedWith, null);
    const typed = stage.connect(keyOf("operators")).hello(hello("secret-of-thieves-1", own));
    assert.equal(typed.closedWith?.code, "INVALID_ARGUMENT");
    const pools = stage.reportsOf("WORKER_UP").map(({ worker }) => worker.pool);
    assert.deepEqual(pools, [own, "gpu"]);
  });

  it("refuses a pool that the key does not name", () => {
    const stage = new Stage();
    const secret = "the-secret-of-a-worker";
    const hello = { workerId: workerIdOf(secret) ?? "", secret };
    const key = keyOf("gpus", ["gpu-*", "mail"]);
    const refused = stage.connect(key).hello({ ...hello, pool: "gpu" });
    assert.deepEqual(refused.closedWith, {
      code: "PERMISSION_DENIED",
      detail: "pool: the key may serve gpu-*, mail, and not gpu",
    });
    assert.equal(stage.connect(key).hello({ ...hello, pool: "gpu-1" }).closedWith, null);
  });

  it("does not count finished attempts against the slots", () => {
    const stage = new Stage();
    const worker = stage.connect().hello({ holds: [1, 2, 3, 4].map((n) => ({ ...held(n), finished: true })) });
    assert.equal(worker.closedWith, null);
  });

  const names: [string, (worker: WorkerEnd) => void][] = [
    ["worker_id", (w) => w.hello({ workerId: "w\u202e" })],
    ["name", (w) => w.hello({ name: "n\u202e" })],
    ["pool", (w) => w.hello({ pool: "p\u202e" })],
    ["handlers", (w) => w.hello({ handlers: ["echo", "e\u202e"] })],
    ["capabilities", (w) => w.hello({ capabilities: ["gpu", "g\u202e"] })],
  ];
  for (const [field, say] of names) {
    it(`takes a worker whose ${field} the next release refuses, and logs it`, () => {
      const stage = new Stage();
      stage.own();
      const worker = stage.connect();
      say(worker);
      assert.equal(worker.closedWith, null);
      assert.equal(stage.reportsOf("WORKER_UP").length, 1);
      const warning = `${field} has the control character U+202E, which the next release refuses: leave it out`;
      assert.deepEqual(warningsOf(stage), [warning]);
    });
  }

  it("logs such workers once in ten seconds, with the number of the others, and no other workers", () => {
    const stage = new Stage();
    stage.own();
    for (let n = 0; n < 50; n++) stage.connect().hello({ workerId: `w${n}`, name: `n${n}\u2066` });
    assert.equal(warningsOf(stage).length, 1);
    stage.runtime.advance(10_000);
    stage.connect().hello({ workerId: "sound", name: "ñ" });
    stage.connect().hello({ workerId: "last", name: "l\u2066" });
    assert.equal(warningsOf(stage).length, 2);
    assert.equal(JSON.parse(linesOf(stage)[1] ?? "").repeated, 49);
  });

  it("refuses a second hello", () => {
    const { worker } = stageWithWorker();
    worker.hello();
    assert.equal(worker.closedWith?.code, "INVALID_ARGUMENT");
  });

  it("closes a connection that says nothing", () => {
    const stage = new Stage();
    const silent = stage.connect();
    stage.runtime.advance(10_000);
    assert.match(silent.closedWith?.detail ?? "", /no hello/);
  });
});
