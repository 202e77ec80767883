import assert from "node:assert/strict";
import { it } from "node:test";
import { anchorHash, FIRST_PREV, recordHash } from "../../domain/audit/audit-record.ts";
import { allRecords, auditNote, verified } from "../audit.fixture.ts";
import { sha256 } from "../audit-chain.ts";
import type { AuditAnchor } from "../store-audit.ts";
import { type Scene, TENANT } from "./store-scene.conformance.ts";

const DAY_MS = 86_400_000;

/** The audit log. */
export function auditConformance(scene: () => Scene): void {
  const audit = () => scene().store.audit;

  async function anchored(floors: AuditAnchor["floors"] = []): Promise<AuditAnchor> {
    const { last, heads } = await audit().unsealed();
    const at = scene().runtime.now();
    const content = { number: (last?.number ?? 0) + 1, at, heads, floors, prev: last?.hash ?? FIRST_PREV };
    const anchor = { ...content, hash: anchorHash(content, sha256), signature: "c2lnbmVk" };
    assert.equal(await audit().addAnchor(anchor), true);
    return anchor;
  }

  it("is empty at first", async () => {
    assert.deepEqual(await audit().list({ tenant: null }, null, 10), []);
    assert.deepEqual(await audit().unsealed(), { last: null, heads: [] });
    assert.equal(await verified(audit()), null);
  });

  it("reads a record back with all fields, and with the hash that it was written with", async () => {
    const actor = { kind: "TENANT_ADMIN", keyId: 'a "b" \\ ü', for: "acme" } as const;
    const detail = { kind: "x", fields: ["b", "a", "ünï"], count: 12, ratio: 0.5, off: false, none: null };
    const note = auditNote({ tenant: "acme", actor, action: "void?", target: null, outcome: "REFUSED", detail });
    await audit().write([note, auditNote({ requestId: null, address: null })]);
    const [first, second] = await allRecords(audit());
    const { chain, seq, at, prev, hash, ...content } = first ?? assert.fail();
    assert.deepEqual(content, note);
    assert.deepEqual([seq, prev], [1, FIRST_PREV]);
    assert.equal(hash, recordHash({ ...content, chain, seq, at, prev }, sha256));
    assert.deepEqual([second?.seq, second?.prev, second?.chain], [2, hash, chain]);
    assert.equal(await verified(audit()), null);
  });

  it("writes the record of a change with it, and none of a change that changes nothing", async () => {
    const { store } = scene();
    await store.putPool({ name: "gpu", paused: true }, auditNote());
    const asked = { tenant: TENANT, jobId: scene().runtime.uuid(), cancelRunning: false, commandId: () => "", at: 1 };
    assert.deepEqual(await store.jobs.delete(asked, auditNote({ action: "deleteJob" })), { kind: "NOT_FOUND" });
    const job = await scene().submitted();
    const commandId = () => scene().runtime.uuid();
    await store.jobs.delete({ ...asked, jobId: job.jobId, commandId }, auditNote({ action: "deleteJob" }));
    const command = { id: scene().runtime.uuid(), shard: 1, kind: "CANCEL" as const, executionId: job.executionId };
    await store.addCommand(command, auditNote({ action: "cancelExecution" }));
    assert.deepEqual(
      (await allRecords(audit())).map(({ action, seq }) => [action, seq]),
      [
        ["putPool", 1],
        ["deleteJob", 2],
        ["cancelExecution", 3],
      ],
    );
    assert.equal(await verified(audit()), null);
  });

  it("keeps the chain whole while many changes end at once", async () => {
    const { store } = scene();
    const names = Array.from({ length: 20 }, (_, n) => `p${n}`);
    await Promise.all(names.map((name) => store.putPool({ name, paused: true }, auditNote({ target: name }))));
    const records = await allRecords(audit());
    assert.deepEqual(records.map(({ target }) => target).sort(), [...names].sort());
    assert.equal(await verified(audit()), null);
  });

  it("lists records by their fields, newest first, page by page", async () => {
    const key = { kind: "CLIENT", keyId: "k1", for: null } as const;
    await audit().write([
      auditNote({ target: "a" }),
      auditNote({ tenant: "acme", target: "b", actor: key }),
      auditNote({ action: "deleteJob", target: "c" }),
    ]);
    const targets = async (filter: Parameters<ReturnType<typeof audit>["list"]>[0]) =>
      (await audit().list(filter, null, 10)).map(({ target }) => target);
    assert.deepEqual(await targets({ tenant: null }), ["c", "b", "a"]);
    assert.deepEqual(await targets({ tenant: "acme" }), ["b"]);
    assert.deepEqual(await targets({ tenant: null, actor: "k1" }), ["b"]);
    assert.deepEqual(await targets({ tenant: "default", action: "putPool" }), ["a"]);
    assert.deepEqual(await targets({ tenant: null, target: "c" }), ["c"]);
    assert.deepEqual(await targets({ tenant: null, since: scene().runtime.now() + DAY_MS }), []);
    const [newest] = await audit().list({ tenant: null }, null, 1);
    const rest = await audit().list({ tenant: null }, newest ?? null, 10);
    assert.deepEqual(
      rest.map(({ target }) => target),
      ["b", "a"],
    );
  });

  it("seals the chains that have moved, and takes one anchor of a number", async () => {
    await audit().write([auditNote()]);
    const first = await anchored();
    assert.deepEqual(await audit().anchors(0, 10), [first]);
    assert.deepEqual(await audit().unsealed(), { last: first, heads: [] });
    assert.equal(await audit().addAnchor(first), false);
    assert.equal(await audit().addAnchor({ ...first, number: 3 }), false);
    await audit().write([auditNote(), auditNote()]);
    const { heads } = await audit().unsealed();
    assert.deepEqual(
      heads.map(({ seq }) => seq),
      [3],
    );
    await anchored();
    assert.deepEqual(
      (await audit().anchors(1, 10)).map(({ number }) => number),
      [2],
    );
    assert.equal(await verified(audit()), null);
  });

  it("removes months up to a floor that an anchor keeps", async () => {
    await audit().write([auditNote(), auditNote()]);
    const now = scene().runtime.now();
    assert.deepEqual(await audit().removable(now), []);
    const later = now + 62 * DAY_MS;
    const floors = await audit().removable(later);
    assert.deepEqual(
      floors.map(({ seq }) => seq),
      [2],
    );
    await anchored(floors);
    await audit().remove(later);
    assert.deepEqual(await allRecords(audit()), []);
    assert.deepEqual((await audit().unsealed()).heads, []);
    assert.equal(await verified(audit()), null);
  });
}
