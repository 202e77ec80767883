import assert from "node:assert/strict";
import { it } from "node:test";
import { DEAD_KEYS_KEPT_DAYS, type KeyOwner, type NewApiKey } from "../store-keys.ts";
import { type Scene, TENANT } from "./store-scene.conformance.ts";

const AT = 1_800_000_000_000;
const DAY_MS = 86_400_000;
const OPERATOR: KeyOwner = { tenant: TENANT, isOperator: true };
const OF_TENANT: KeyOwner = { tenant: TENANT, isOperator: false };

/** API keys. */
export function keysConformance(scene: () => Scene): void {
  let number = 0;
  const keys = () => scene().store.keys;
  const newKey = (sample: Partial<NewApiKey> = {}): NewApiKey => {
    const id = scene().runtime.uuid();
    const hash = Buffer.alloc(32, ++number).toString("base64");
    const rest = { name: 'Büro "a\\b"', hint: "msw_…wxyz", createdAt: AT, createdBy: "environment", expiresAt: null };
    const scopes = ["worker:serve"] as const;
    return {
      id,
      tenant: TENANT,
      kind: "WORKER",
      scopes,
      pools: ["gpu-*", "{a,b}"],
      ...rest,
      replaces: null,
      certificateId: null,
      hash,
      ...sample,
    };
  };
  const created = async (sample: Partial<NewApiKey> = {}): Promise<NewApiKey> => {
    const key = newKey(sample);
    assert.equal(await keys().create(key), true);
    return key;
  };
  const shown = ({ hash: _hash, ...key }: NewApiKey) => ({
    ...key,
    revokedAt: null,
    lastUsedAt: null,
  });

  it("has no key, and version 0, at first", async () => {
    assert.equal(await keys().version(), 0);
    assert.deepEqual(await keys().changedSince(0, 10), []);
    assert.deepEqual(await keys().list(OPERATOR, null, 10), []);
  });

  it("keeps a key with all its fields, and its hash only for those that judge", async () => {
    const key = await created({
      expiresAt: AT + 5,
      replaces: scene().runtime.uuid(),
      certificateId: scene().runtime.uuid(),
    });
    assert.deepEqual(await keys().get(OF_TENANT, key.id), shown(key));
    const version = await keys().version();
    const { id, tenant, kind, scopes, pools, certificateId, expiresAt, hash, replaces } = key;
    assert.deepEqual(await keys().changedSince(0, 10), [
      { id, tenant, kind, scopes, pools, certificateId, expiresAt, hash, replaces, revokedAt: null, version },
    ]);
    assert.equal(JSON.stringify(await keys().list(OPERATOR, null, 10)).includes(hash), false);
  });

  it("keeps keys without pools, and a list of several scopes in its order", async () => {
    const key = await created({ kind: "CLIENT", scopes: ["jobs:read", "jobs:submit"], pools: [] });
    const found = await keys().get(OF_TENANT, key.id);
    assert.deepEqual([found?.scopes, found?.pools], [["jobs:read", "jobs:submit"], []]);
  });

  it("shows keys of operators to operators, and those of a tenant to it", async () => {
    const [own, operator] = [await created(), await created({ tenant: null, kind: "OPERATOR" })];
    const other = await created({ tenant: "other" });
    const ids = async (owner: KeyOwner) => (await keys().list(owner, null, 10)).map(({ id }) => id);
    assert.deepEqual(await ids(OF_TENANT), [own.id]);
    assert.deepEqual(await ids(OPERATOR), [own.id, operator.id].sort());
    assert.deepEqual(await ids({ tenant: "other", isOperator: false }), [other.id]);
    for (const id of [operator.id, other.id, scene().runtime.uuid()]) {
      assert.equal(await keys().get(OF_TENANT, id), null);
      assert.equal(await keys().revoke(OF_TENANT, id, AT), null);
    }
    assert.equal((await keys().get(OPERATOR, operator.id))?.revokedAt, null);
  });

  it("lists keys in pages", async () => {
    const all = [await created(), await created(), await created()].map(({ id }) => id).sort();
    const first = await keys().list(OF_TENANT, null, 2);
    const rest = await keys().list(OF_TENANT, first.at(-1)?.id ?? null, 2);
    assert.deepEqual(
      [...first, ...rest].map(({ id }) => id),
      all,
    );
  });

  it("revokes a key for good, and tells those that know an earlier version", async () => {
    const [key, other] = [await created(), await created()];
    const before = await keys().version();
    assert.deepEqual(await keys().changedSince(before, 10), []);
    assert.equal((await keys().revoke(OF_TENANT, key.id, AT + 7))?.revokedAt, AT + 7);
    assert.equal((await keys().revoke(OF_TENANT, key.id, AT + 9))?.revokedAt, AT + 7);
    assert.ok((await keys().version()) > before);
    const changed = await keys().changedSince(before, 10);
    assert.deepEqual(
      changed.map(({ id, revokedAt }) => [id, revokedAt]),
      [[key.id, AT + 7]],
    );
    assert.deepEqual(
      (await keys().changedSince(0, 1)).map(({ id }) => id),
      [other.id],
    );
  });

  it("creates the successor of a key, which expires after the overlap", async () => {
    const key = await created();
    const before = await keys().version();
    const successor = newKey({ replaces: key.id });
    assert.equal(await keys().rotate(successor, AT + 60_000, AT), true);
    assert.equal((await keys().get(OF_TENANT, key.id))?.expiresAt, AT + 60_000);
    assert.deepEqual(await keys().get(OF_TENANT, successor.id), shown(successor));
    const changed = await keys().changedSince(before, 10);
    assert.deepEqual(new Set(changed.map(({ id }) => id)), new Set([key.id, successor.id]));
  });

  it("lets a key that expires sooner than the overlap do so, and rotates no dead one", async () => {
    const [early, late, revoked] = [
      await created({ expiresAt: AT + 5 }),
      await created({ expiresAt: AT + 90_000 }),
      await created(),
    ];
    await keys().revoke(OF_TENANT, revoked.id, AT);
    const rotate = (id: string, now = AT) => keys().rotate(newKey({ replaces: id }), AT + 60_000, now);
    assert.deepEqual([await rotate(early.id), await rotate(late.id), await rotate(revoked.id)], [true, true, false]);
    const expiry = async (id: string) => (await keys().get(OF_TENANT, id))?.expiresAt;
    assert.deepEqual([await expiry(early.id), await expiry(late.id)], [AT + 5, AT + 60_000]);
    assert.equal(await rotate(early.id, AT + 5), false);
    assert.equal(await rotate(scene().runtime.uuid()), false);
    assert.equal((await keys().list(OPERATOR, null, 10)).length, 5);
  });

  it("keeps the last use of keys, and changes no version by it", async () => {
    const [key, other] = [await created(), await created()];
    const version = await keys().version();
    await keys().used([]);
    await keys().used([
      { id: key.id, at: AT + 60_000 },
      { id: scene().runtime.uuid(), at: AT },
    ]);
    await keys().used([{ id: key.id, at: AT }]);
    assert.deepEqual(
      [(await keys().get(OF_TENANT, key.id))?.lastUsedAt, (await keys().get(OF_TENANT, other.id))?.lastUsedAt],
      [AT + 60_000, null],
    );
    assert.equal(await keys().version(), version);
  });

  it("removes keys that died long ago, and stays a store that has had keys", async () => {
    const now = scene().runtime.now();
    const [revoked, expired, living] = [
      await created(),
      await created({ expiresAt: Math.floor(now) }),
      await created(),
    ];
    await keys().revoke(OF_TENANT, revoked.id, Math.floor(now));
    const retention = { days: 30, deadDays: 90 };
    await scene().store.maintain(now + (DEAD_KEYS_KEPT_DAYS - 1) * DAY_MS, retention);
    assert.equal((await keys().list(OPERATOR, null, 10)).length, 3);
    await scene().store.maintain(now + (DEAD_KEYS_KEPT_DAYS + 1) * DAY_MS, retention);
    assert.deepEqual(
      (await keys().list(OPERATOR, null, 10)).map(({ id }) => id),
      [living.id],
    );
    assert.notEqual(expired.id, living.id);
    assert.ok((await keys().version()) > 0);
  });
}
