import assert from "node:assert/strict";
import { it } from "node:test";
import { ownedPool, shownPool } from "../../domain/pool.ts";
import { TENANT_DEFAULTS } from "../../domain/tenant.ts";
import type { NewTenant } from "../store-tenants.ts";
import type { Scene } from "./store-scene.conformance.ts";

const AT = 1_800_000_000_000;

/** Tenants. */
export function tenantsConformance(scene: () => Scene): void {
  const tenants = () => scene().store.tenants;
  let number = 0;
  const newTenant = (settings: Partial<NewTenant> = {}): NewTenant => {
    return { ...TENANT_DEFAULTS, createdAt: AT, name: `tenant-${++number}`, ...settings };
  };
  const found = async (name: string) => {
    const tenant = (await tenants().all()).find((tenant) => tenant.name === name);
    assert.deepEqual(await tenants().get(name), tenant ?? null);
    return tenant;
  };

  it("has the tenant default from the beginning", async () => {
    const { createdAt: _, updatedAt: _at, version: _version, ...rest } = (await found("default")) ?? assert.fail();
    assert.deepEqual(rest, { ...TENANT_DEFAULTS, name: "default", state: "ACTIVE" });
  });

  it("keeps each setting of a tenant, and raises the version with each change", async () => {
    const settings = {
      ...{ weight: 7, maxRunning: 1, maxWaiting: 2, maxRecurring: 3, submitsPerSec: 0.5, requestsPerSec: 1.25 },
      ...{ maxPayloadBytes: 4, maxBatchBytes: 5, retentionDays: 6, pools: ["a*", "{b,c}"] },
    };
    const before = await tenants().version();
    const tenant = newTenant(settings);
    assert.equal(await tenants().create(tenant), "CREATED");
    assert.equal(await tenants().create(tenant), "EXISTS");
    const { version, ...kept } = (await found(tenant.name)) ?? assert.fail();
    assert.deepEqual(kept, { ...tenant, state: "ACTIVE", updatedAt: AT });
    assert.ok(version > before && version <= (await tenants().version()));
    const change = { state: "SUSPENDED", maxRunning: null, pools: null } as const;
    const changed = await tenants().change(tenant.name, change, version, AT + 1);
    assert.ok(changed.kind === "CHANGED");
    assert.deepEqual(changed.tenant, { ...kept, ...change, updatedAt: AT + 1, version: changed.tenant.version });
    assert.deepEqual(await found(tenant.name), changed.tenant);
    assert.deepEqual(await tenants().change(tenant.name, {}, version, AT), {
      kind: "OTHER_VERSION",
      version: changed.tenant.version,
    });
    assert.deepEqual(await tenants().change("nobody", {}, null, AT), { kind: "NOT_FOUND" });
  });

  it("drops a tenant that is being deleted, with its sources, and gives its name away when nothing of it is kept", async () => {
    const tenant = newTenant();
    await tenants().create(tenant);
    await tenants().bind({ kind: "ROLE", name: "its-role" }, tenant.name);
    await tenants().drop(tenant.name, AT);
    assert.ok(await found(tenant.name), "it is not being deleted");
    await tenants().change(tenant.name, { state: "DELETING" }, null, AT);
    await tenants().drop(tenant.name, AT);
    assert.equal(await found(tenant.name), undefined);
    assert.ok((await tenants().sources()).every((source) => source.tenant !== tenant.name));
    assert.equal(await tenants().create({ ...tenant, weight: 9 }), "CREATED");
    assert.equal((await found(tenant.name))?.weight, 9);
    await scene().submitted({ tenant: tenant.name });
    await tenants().change(tenant.name, { state: "DELETING" }, null, AT);
    await tenants().drop(tenant.name, AT);
    assert.equal(await tenants().create(tenant), "LEFTOVERS");
  });

  it("binds sources to tenants, each to one", async () => {
    const [one, other] = [newTenant(), newTenant()];
    for (const tenant of [one, other]) await tenants().create(tenant);
    const source = { kind: "TOPIC", name: "jobs" } as const;
    await tenants().bind(source, one.name);
    await tenants().bind(source, other.name);
    const before = await tenants().version();
    const own = async () => (await tenants().sources()).filter(({ name }) => name === "jobs");
    assert.deepEqual(await own(), [{ ...source, tenant: other.name }]);
    await tenants().bind(source, null);
    assert.deepEqual(await own(), []);
    assert.ok((await tenants().version()) > before);
  });

  it("tells the pools of tenants, raises the version with them, and drops those of a dropped tenant alone", async () => {
    const [one, other] = [newTenant(), newTenant()];
    for (const tenant of [one, other]) await tenants().create(tenant);
    const { store } = scene();
    const own = async () => (await tenants().pools()).filter((pool) => pool.includes("tenant-"));
    await store.putPool({ name: "gpu", paused: true });
    const before = await tenants().version();
    await store.putPool({ name: ownedPool(one.name, "gpu"), maxRunning: 3 });
    await store.putPool({ name: ownedPool(other.name, "gpu") });
    assert.ok((await tenants().version()) > before);
    assert.deepEqual(await own(), [ownedPool(one.name, "gpu"), ownedPool(other.name, "gpu")].sort());
    const maxima = (await store.readPools()).filter(({ name }) => shownPool(name) === "gpu");
    assert.deepEqual(maxima.map(({ maxRunning, paused }) => `${maxRunning} ${paused}`).sort(), [
      ...["3 false", "null false", "null true"],
    ]);
    await tenants().drop(one.name, AT);
    assert.equal((await own()).length, 2, "it is not being deleted");
    await tenants().change(one.name, { state: "DELETING" }, null, AT);
    await tenants().drop(one.name, AT);
    assert.deepEqual(await own(), [ownedPool(other.name, "gpu")]);
    // A node that has not heard of the deletion writes a pool, which a new tenant of the name must not get.
    await store.putPool({ name: ownedPool(one.name, "late") });
    await tenants().create(one);
    assert.deepEqual(await own(), [ownedPool(other.name, "gpu")]);
  });

  it("revokes the keys of a tenant", async () => {
    const tenant = newTenant();
    await tenants().create(tenant);
    const about = { kind: "CLIENT", scopes: ["jobs:read"], pools: [], name: "n", hint: "h", createdBy: "b" } as const;
    const id = scene().runtime.uuid();
    const hash = Buffer.alloc(32, 200).toString("base64");
    const { store } = scene();
    await store.keys.create({
      ...{
        ...about,
        id,
        hash,
        tenant: tenant.name,
        createdAt: AT,
        expiresAt: null,
        replaces: null,
        certificateId: null,
      },
    });
    await tenants().revokeKeys(tenant.name, AT + 1);
    const key = await store.keys.get({ tenant: tenant.name, isOperator: false }, id);
    assert.equal(key?.revokedAt, AT + 1);
  });
}
