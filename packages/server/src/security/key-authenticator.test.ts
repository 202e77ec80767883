import assert from "node:assert/strict";
import { beforeEach, describe, it } from "node:test";
import { pino } from "pino";
import { KeyTable } from "../adapters/simulated/rows/key-table.ts";
import { KEY_RANDOM_CHARS, keyText } from "../domain/api-key.ts";
import { isRefusal, type Principal, type Refusal } from "../ports/authenticator.ts";
import { ManualRuntime, settled } from "../ports/manual-runtime.fixture.ts";
import { StoreUnavailable } from "../ports/store.ts";
import type { StoreKeys } from "../ports/store-keys.ts";
import { KeyAuthenticator } from "./key-authenticator.ts";
import { KeyRing } from "./key-ring.ts";
import { newKey, successorOf } from "./new-key.ts";
import { type ApiKeys, SettingsKeys } from "./settings-keys.ts";
import { tenantOf } from "./tenant.ts";
import { UsedKeys } from "./used-keys.ts";

const OPERATOR = { tenant: "default", isOperator: true };
const ADDRESS = "10.0.0.9";
const log = pino({ level: "silent" });

/** Keys of a store that several nodes share, and that can be away. */
class SharedKeys {
  table = new KeyTable();
  isAway = false;
  /** Number of questions for versions and changes that still get an answer. */
  answersLeft = Number.POSITIVE_INFINITY;
  /** Number of questions for versions and changes. */
  asked = 0;
  readonly store: StoreKeys = {
    version: () => this.#ask(() => this.table.version, 1),
    changedSince: (...asked) => this.#ask(() => this.table.changedSince(...asked), 1),
    create: (key) => this.#ask(() => this.table.create(key)),
    list: (...asked) => this.#ask(() => this.table.list(...asked)),
    get: (...asked) => this.#ask(() => this.table.get(...asked)),
    revoke: (owner, id, now) => this.#ask(() => this.table.revoke(owner, id, now)),
    rotate: (key, expiresAt, now) => this.#ask(() => this.table.rotate(key, expiresAt, now)),
    used: (uses) => this.#ask(() => this.table.used(uses)),
  };

  async #ask<T>(answer: () => T, count = 0): Promise<T> {
    this.asked += count;
    this.answersLeft -= count;
    if (this.answersLeft < 0) return await new Promise<never>(() => undefined);
    if (this.isAway) throw new StoreUnavailable("the store is away");
    return answer();
  }
}

/** A node that judges by the keys of a shared store. */
class TestNode {
  readonly ring: KeyRing;
  readonly used: UsedKeys;
  readonly authenticator: KeyAuthenticator;

  constructor(keys: SharedKeys, runtime: ManualRuntime, settings: ApiKeys) {
    const { store } = keys;
    this.ring = new KeyRing({ store, runtime, log });
    this.used = new UsedKeys({ store, runtime, log });
    const parts = { ring: this.ring, used: this.used, tenants: null, runtime, staleMs: 900_000 };
    this.authenticator = new KeyAuthenticator({ settings: new SettingsKeys(settings), ...parts });
  }

  judge(key: string | null, address = ADDRESS): Principal | Refusal {
    const judged = this.authenticator.judge(key === null ? undefined : `Bearer ${key}`, address);
    assert.ok(!(judged instanceof Promise));
    return judged;
  }

  /** Short form of a judgement: the key's id, or the code of the refusal. */
  says(key: string | null, address = ADDRESS): string {
    const judged = this.judge(key, address);
    return isRefusal(judged) ? judged.code : judged.keyId;
  }

  /** The same of a key that the node may have to look up. */
  async soon(key: string): Promise<string> {
    const judged = await this.authenticator.judge(`Bearer ${key}`, ADDRESS);
    return isRefusal(judged) ? judged.code : judged.keyId;
  }
}

describe("the judgement of callers by API keys", () => {
  let runtime: ManualRuntime;
  let keys: SharedKeys;
  beforeEach(() => {
    runtime = new ManualRuntime();
    keys = new SharedKeys();
  });

  async function node(settings: ApiKeys = { apiKey: null }): Promise<TestNode> {
    const made = new TestNode(keys, runtime, settings);
    await made.ring.start();
    return made;
  }

  function create(sample: Partial<Parameters<typeof newKey>[0]> = {}) {
    const asked = {
      kind: "CLIENT",
      name: "shop",
      tenant: tenantOf(null),
      createdBy: "store",
      expiresAt: null,
    } as const;
    const made = newKey({ ...asked, ...sample }, runtime);
    keys.table.create(made.key);
    return { id: made.key.id, text: made.text, key: made.key };
  }

  it("lets everybody in as the operator while there is neither a key of the settings nor one of the store", async () => {
    const open = await node();
    assert.deepEqual([open.says(null), open.says("whatever")], ["loopback", "loopback"]);
    const closed = await node({ apiKey: "the-key-of-settings", apiKeyAlso: "another-of-settings" });
    assert.deepEqual(
      [null, "the-key-of-settings", "another-of-settings", "the-key-of-setting", "whatever"].map((key) =>
        closed.says(key),
      ),
      ["UNAUTHENTICATED", "environment", "environment-also", "UNAUTHENTICATED", "UNAUTHENTICATED"],
    );
  });

  it("asks for a key from the first key of the store on, also of streams that are open, and after its revocation", async () => {
    const open = await node();
    const ended: string[] = [];
    open.authenticator.hold({ principal: open.judge(null) as Principal, end: ({ code }) => ended.push(code) });
    const { id, text } = create({ kind: "OPERATOR" });
    await open.ring.refresh();
    assert.deepEqual([open.says(null), open.says(text), ended], ["UNAUTHENTICATED", id, ["UNAUTHENTICATED"]]);
    keys.table.revoke(OPERATOR, id, runtime.now());
    await open.ring.refresh();
    assert.deepEqual([open.says(null), await open.soon(text)], ["UNAUTHENTICATED", "UNAUTHENTICATED"]);
  });

  it("knows a key by all of its characters, and gives it the rights of its row", async () => {
    const { id, text } = create({ kind: "WORKER", pools: ["gpu-*"] });
    const one = await node();
    const judged = one.judge(text) as Principal;
    assert.deepEqual(
      [judged.keyId, judged.kind, judged.tenant, [...judged.scopes], judged.pools, judged.source],
      [id, "WORKER", "default", ["worker:serve"], ["gpu-*"], "STORE"],
    );
    for (let length = 0; length < text.length; length++)
      assert.equal(one.says(text.slice(0, length), `${length}`), "UNAUTHENTICATED");
    const last = text.at(-1) === "0" ? "1" : "0";
    assert.equal(one.says(text.slice(0, -1) + last, "b"), "UNAUTHENTICATED");
  });

  it("refuses a revoked key at once where it hears of it, and within a second where no message comes", async () => {
    const { text } = create();
    const [told, untold] = [await node(), await node()];
    const ended: string[] = [];
    for (const [name, one] of Object.entries({ told, untold })) {
      one.authenticator.hold({ principal: one.judge(text) as Principal, end: () => ended.push(name) });
    }
    keys.table.revoke(OPERATOR, (told.judge(text) as Principal).keyId, runtime.now());
    await told.ring.refresh();
    assert.deepEqual([await told.soon(text), ended], ["UNAUTHENTICATED", ["told"]]);
    await runtime.advance(1_000);
    assert.deepEqual([await untold.soon(text), ended], ["UNAUTHENTICATED", ["told", "untold"]]);
  });

  it("forgets uses that have ended", async () => {
    const { id, text } = create();
    const one = await node();
    const release = one.authenticator.hold({
      principal: one.judge(text) as Principal,
      end: () => assert.fail("it has ended"),
    });
    release();
    keys.table.revoke(OPERATOR, id, runtime.now());
    await one.ring.refresh();
  });

  it("lets a key expire by the store's clock, with its streams", async () => {
    // The clock of the machine is an hour ahead of the store's, which is the one of the runtime.
    const { text } = create({ expiresAt: runtime.now() + 5_000 });
    const one = await node();
    const ended: string[] = [];
    one.authenticator.hold({ principal: one.judge(text) as Principal, end: ({ detail }) => ended.push(detail) });
    await runtime.advance(4_900);
    assert.deepEqual([isRefusal(one.judge(text)), ended], [false, []]);
    await runtime.advance(1_100);
    assert.deepEqual([one.says(text), ended], ["UNAUTHENTICATED", ["the API key has expired"]]);
  });

  it("takes both keys of a rotation until the overlap is over", async () => {
    const { text, id } = create();
    const one = await node();
    const former = keys.table.get(OPERATOR, id);
    assert.ok(former);
    const next = successorOf(former, "store", runtime);
    keys.table.rotate(next.key, runtime.now() + 3_000, runtime.now());
    await runtime.advance(1_000);
    assert.deepEqual([one.says(text), one.says(next.text)], [id, next.key.id]);
    await runtime.advance(2_000);
    assert.deepEqual([one.says(text), one.says(next.text)], ["UNAUTHENTICATED", next.key.id]);
  });

  it("keeps known keys good while the store is away, for a while, and does not call an unknown one wrong", async () => {
    const { id, text } = create();
    const one = await node({ apiKey: "the-key-of-settings" });
    keys.isAway = true;
    const later = create();
    await runtime.advance(6_000);
    assert.deepEqual([one.says(text), one.says(later.text)], [id, "UNAVAILABLE"]);
    await runtime.advance(900_000);
    assert.deepEqual([one.says(text), one.says("the-key-of-settings")], ["UNAVAILABLE", "environment"]);
    keys.isAway = false;
    await runtime.advance(1_000);
    assert.deepEqual([one.says(text), one.says(later.text)], [id, later.id]);
  });

  it("forgets keys that the store has lost when it was set back", async () => {
    const before = keys.table.copy();
    const { text } = create();
    const one = await node();
    assert.equal(isRefusal(one.judge(text)), false);
    keys.isAway = true;
    await runtime.advance(1_000);
    keys.table = before;
    keys.isAway = false;
    const other = create({ kind: "OPERATOR" });
    create();
    await runtime.advance(1_000);
    assert.deepEqual([await one.soon(text), one.says(other.text)], ["UNAUTHENTICATED", other.id]);
  });

  it("hashes at most 20 wrong keys of an address in a second, and still takes those that it knows", async () => {
    const { id, text } = create();
    const late = create();
    const one = await node();
    assert.equal(one.says(text), id);
    const tries = Array.from({ length: 25 }, (_, n) => one.says(`wrong-${n}`));
    assert.deepEqual(tries, [...Array(20).fill("UNAUTHENTICATED"), ...Array(5).fill("TOO_MANY_TRIES")]);
    assert.deepEqual(
      [one.says(text), one.says(late.text), one.says(late.text, "10.0.0.10")],
      [id, "TOO_MANY_TRIES", late.id],
    );
    await runtime.advance(1_000);
    assert.equal(one.says("wrong"), "UNAUTHENTICATED");
  });

  const seen = async (judged: ReturnType<KeyAuthenticator["judge"]>) => {
    const one = await judged;
    return isRefusal(one) ? one.code : one.keyId;
  };
  /** A node that has had a key. */
  const closedNode = async () => {
    create({ name: "first" });
    return await node();
  };
  const wrongText = (n: number) => keyText("CLIENT", String(n).padStart(KEY_RANDOM_CHARS, "0"));

  it("asks the store for a key that another node has just created, once for all that come with it", async () => {
    const one = await closedNode();
    const { id, text } = create();
    keys.asked = 0;
    const judged = [1, 2, 3].map((n) => one.authenticator.judge(`Bearer ${text}`, `10.0.0.${n}`));
    await settled();
    assert.deepEqual(await Promise.all(judged.map(seen)), [id, id, id]);
    assert.deepEqual([one.says(text), keys.asked], [id, 2], "one for the version, one for the key");
  });

  it("ends uses of a key that was revoked, although the next question gets no answer", async () => {
    const { id, text } = create();
    const one = await node();
    const ended: Refusal[] = [];
    const principal = one.judge(text);
    assert.ok(!isRefusal(principal));
    one.authenticator.hold({ principal, end: (refusal) => ended.push(refusal) });
    keys.table.revoke(OPERATOR, id, runtime.now());
    // The first question is answered, and the second one, which was asked for meanwhile, is not.
    keys.answersLeft = 2;
    void one.ring.refresh();
    void one.ring.refresh();
    await settled();
    assert.deepEqual(
      ended.map(({ code }) => code),
      ["UNAUTHENTICATED"],
    );
  });

  it("asks the store about wrong keys at most ten times a second, and about one of them once", async () => {
    const one = await closedNode();
    keys.asked = 0;
    const judged: string[] = [];
    for (let n = 0; n < 10_000; n++) {
      void seen(one.authenticator.judge(`Bearer ${wrongText(n)}`, `10.1.${n % 250}.1`)).then((code) =>
        judged.push(code),
      );
      if (n % 100 === 99) await runtime.advance(10);
    }
    await runtime.advance(200);
    assert.equal(judged.length, 10_000);
    assert.deepEqual([...new Set(judged)].sort(), ["TOO_MANY_TRIES", "UNAUTHENTICATED"]);
    // One question in 100 ms for unknown keys, and the one of each second.
    assert.ok(keys.asked <= 14, `${keys.asked} questions`);
    assert.equal(one.says(wrongText(1), "10.2.0.1"), "UNAUTHENTICATED");
    assert.equal(one.says("no key at all", "10.2.0.1"), "UNAUTHENTICATED");
  });

  it("lets one address have 20 unknown keys looked up at once", async () => {
    const one = await closedNode();
    const judged = Array.from({ length: 25 }, (_, n) => one.authenticator.judge(`Bearer ${wrongText(n)}`, ADDRESS));
    const codes = await Promise.all(judged.map(seen));
    assert.deepEqual(codes, [...Array(20).fill("UNAUTHENTICATED"), ...Array(5).fill("TOO_MANY_TRIES")]);
  });

  it("calls no key wrong while the store cannot be asked for it", async () => {
    const one = await closedNode();
    const { id, text } = create();
    keys.isAway = true;
    assert.equal(await seen(one.authenticator.judge(`Bearer ${text}`, ADDRESS)), "UNAVAILABLE");
    keys.isAway = false;
    const again = one.authenticator.judge(`Bearer ${text}`, ADDRESS);
    await runtime.advance(100);
    assert.equal(await seen(again), id);
  });

  it("writes the last use of keys by the minute", async () => {
    const { id, text } = create();
    const one = await node();
    const usedAt = runtime.now();
    one.says(text);
    one.says(text);
    await runtime.advance(60_000);
    const minute = Math.floor(usedAt / 60_000) * 60_000;
    assert.equal(keys.table.get(OPERATOR, id)?.lastUsedAt, minute);
    one.says(text);
    await one.used.flush();
    assert.equal(keys.table.get(OPERATOR, id)?.lastUsedAt, Math.floor(runtime.now() / 60_000) * 60_000);
  });
});
