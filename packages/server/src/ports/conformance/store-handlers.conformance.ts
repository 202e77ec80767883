import assert from "node:assert/strict";
import { it } from "node:test";
import { HANDLERS_KEPT_MAX, HANDLERS_OF_TENANT_MAX } from "@mainspring/contract/limits";
import { ownedPool, ownerOfPool } from "../../domain/pool.ts";
import type { DeclaredHandler } from "../store-handlers.ts";
import { SEEN_EVERY_MS } from "../store-handlers.ts";
import type { Scene } from "./store-scene.conformance.ts";

const AT = 1_800_000_000_000;
const declared = (handler: string, sample: Partial<DeclaredHandler> = {}): DeclaredHandler => {
  return { pool: "default", handler, isHome: false, policies: '{"timeoutSec":5}', isNews: true, ...sample };
};

export function handlersConformance(scene: () => Scene): void {
  const keep = (declarations: DeclaredHandler[], at = AT) => scene().store.handlers.keep(declarations, at);
  const kept = async () => (await scene().store.handlers.read(null))?.handlers ?? [];

  it("keeps what workers declare, by pool and handler", async () => {
    assert.deepEqual(await kept(), []);
    const home = { pool: "mail", isHome: true, policies: "{}" };
    assert.equal(await keep([declared("b", home), declared("b"), declared("a")]), true);
    const common = { isHome: false, policies: '{"timeoutSec":5}', declaredAt: AT, seenAt: AT };
    assert.deepEqual(await kept(), [
      { ...common, pool: "default", handler: "a" },
      { ...common, pool: "default", handler: "b" },
      { ...common, ...home, handler: "b" },
    ]);
  });

  it("adds no row for a handler that declares nothing, and empties the row of one that declares nothing any more", async () => {
    assert.equal(await keep([declared("a", { policies: "{}" })]), false);
    assert.deepEqual(await kept(), []);
    await keep([declared("a")]);
    assert.equal(await keep([declared("a", { policies: "{}" })], AT + 1), true);
    assert.deepEqual(
      (await kept()).map(({ policies, declaredAt }) => [policies, declaredAt]),
      [["{}", AT + 1]],
    );
  });

  it("lets the word of a worker that starts replace what is kept, and that of one that comes back add what is missing", async () => {
    await keep([declared("a")]);
    const old = { policies: '{"timeoutSec":9}', isNews: false };
    assert.equal(await keep([declared("a", old), declared("b", old)], AT + 1), true);
    assert.deepEqual(
      (await kept()).map(({ policies }) => policies),
      ['{"timeoutSec":5}', '{"timeoutSec":9}'],
    );
    assert.equal(await keep([declared("a", { policies: '{"timeoutSec":7}' })], AT + 2), true);
    assert.equal((await kept())[0]?.policies, '{"timeoutSec":7}');
  });

  it("tells readers by the version whether anything has changed", async () => {
    const { handlers } = scene().store;
    const empty = await handlers.read(null);
    await keep([declared("a")]);
    const first = await handlers.read(empty?.version ?? null);
    assert.equal(first?.handlers.length, 1);
    assert.equal(await keep([declared("a")], AT + 1), false);
    assert.equal(await handlers.read(first.version), null);
    await keep([declared("a", { policies: "{}" })], AT + 2);
    assert.notEqual(await handlers.read(first.version), null);
  });

  it("writes when a handler was seen once an hour", async () => {
    await keep([declared("a")]);
    await keep([declared("a", { isNews: false })], AT + SEEN_EVERY_MS);
    assert.equal((await kept())[0]?.seenAt, AT);
    assert.equal(await keep([declared("a", { isNews: false })], AT + SEEN_EVERY_MS + 1), false);
    assert.deepEqual(
      (await kept()).map(({ declaredAt, seenAt }) => [declaredAt, seenAt]),
      [[AT, AT + SEEN_EVERY_MS + 1]],
    );
  });

  it("has one home for each handler: the pool that was declared last", async () => {
    const homes = async () => (await kept()).filter(({ isHome }) => isHome).map(({ pool }) => pool);
    const home = (pool: string, isNews = true) => declared("a", { pool, isHome: true, isNews });
    await keep([home("one")]);
    await keep([home("two")]);
    assert.deepEqual(await homes(), ["two"]);
    await keep([home("one", false)]);
    assert.deepEqual(await homes(), ["two"]);
    await keep([home("one")]);
    assert.deepEqual(await homes(), ["one"]);
    await keep([home("three"), home("four"), declared("b", { isHome: true })]);
    assert.deepEqual(await homes(), ["default", "three"]);
  });

  it("has one home for each handler in the pools of each tenant, and forgets handlers of each by themselves", async () => {
    const homes = async () => (await kept()).filter(({ isHome }) => isHome).map(({ pool }) => pool);
    const own = (tenant: string, pool: string) => declared("a", { pool: ownedPool(tenant, pool), isHome: true });
    await keep([declared("a", { pool: "shared", isHome: true })]);
    await keep([own("acme", "one"), own("other", "one")]);
    await keep([own("acme", "two")]);
    assert.deepEqual(await homes(), [ownedPool("acme", "two"), ownedPool("other", "one"), "shared"].sort());
    const many = Array.from({ length: HANDLERS_OF_TENANT_MAX }, (_, index) =>
      declared(`h${index}`, { pool: ownedPool("acme", "one") }),
    );
    await keep(many, AT + 1);
    const left = await kept();
    assert.equal(left.filter(({ pool }) => ownerOfPool(pool) === "acme").length, HANDLERS_OF_TENANT_MAX);
    assert.deepEqual(await homes(), [ownedPool("other", "one"), "shared"].sort());
  });

  it("takes declarations of several nodes at once", async () => {
    const all = Array.from({ length: 8 }, (_, node) =>
      keep([declared("a", { policies: `{"timeoutSec":${node + 1}}` }), declared(`b${node}`)], AT + node),
    );
    await Promise.all(all);
    assert.equal((await kept()).length, 9);
  });

  it("forgets the handlers that were seen longest ago where there are too many", async () => {
    await keep([declared("oldest")], AT - 1);
    await keep(Array.from({ length: HANDLERS_KEPT_MAX }, (_, index) => declared(`h${index}`)));
    const names = new Set((await kept()).map(({ handler }) => handler));
    assert.equal(names.size, HANDLERS_KEPT_MAX);
    assert.equal(names.has("oldest"), false);
  });
}
