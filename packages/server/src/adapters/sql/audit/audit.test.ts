import assert from "node:assert/strict";
import { after, before, beforeEach, describe, it } from "node:test";
import { AuditVerifier } from "@mainspring/contract/audit-log";
import type pg from "pg";
import { pino } from "pino";
import { allRecords, auditNote, verified } from "../../../ports/audit.fixture.ts";
import { sha256 } from "../../../ports/audit-chain.ts";
import { Scene, TENANT } from "../../../ports/conformance/store-scene.conformance.ts";
import type { NewJob } from "../../../ports/store.ts";
import type { AuditAnchor } from "../../../ports/store-audit.ts";
import { AuditAnchors } from "../../../security/audit-anchors.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import type { SqlStore } from "../sql-store.ts";
import { asked, openTestStore, startTestServer, type TestServer } from "../testing/databases.ts";

describe("an audit log that somebody changes by SQL", () => {
  const runtime = systemRuntime();
  let server: TestServer;
  let database: pg.ClientConfig;
  let store: SqlStore;
  let anchors: AuditAnchors;
  before(async () => {
    server = await startTestServer();
  });
  after(() => server.stop());
  beforeEach(async () => {
    database = await server.newStoreDatabase();
    store = await openTestStore(database, runtime, runtime.uuid());
    anchors = new AuditAnchors({
      ...{ audit: store.audit, runtime, log: pino({ level: "silent" }), owned: () => new Set<number>() },
      ...{ sign: null, days: 400 },
    });
    for (const target of ["a", "b", "c", "d"])
      await store.putPool({ name: target, paused: true }, auditNote({ target }));
  });

  const sql = (text: string) => asked(database, `SET search_path = mainspring; ${text}`);

  async function faultAfter(text: string) {
    await sql(text);
    const fault = await verified(store.audit);
    await store.close();
    return fault && { kind: fault.kind, where: fault.where.replace(/ of the chain .*/, "") };
  }

  /** Faults that a verification with kept anchors finds: at the end of a chain, and among the anchors. */
  async function faultBeside(kept: readonly AuditAnchor[]) {
    const verifier = new AuditVerifier({ digest: sha256, isSigned: null });
    for (const anchor of await store.audit.anchors(0, 100)) verifier.anchor(anchor);
    const missing = kept.map((anchor) => verifier.keptAnchor(anchor)).find((fault) => fault !== null) ?? null;
    for (const record of await allRecords(store.audit)) verifier.record(record);
    return [verifier.end()?.kind, missing?.kind];
  }

  it("has an edited record found", async () => {
    const edit = "UPDATE audit SET target = 'x' WHERE target = 'b'";
    assert.deepEqual(await faultAfter(edit), { kind: "EDITED", where: "record 2" });
  });

  it("has an edited detail found, and an edited time", async () => {
    const edit = `UPDATE audit SET detail = '{"fields": []}' WHERE target = 'c'`;
    assert.deepEqual(await faultAfter(edit), { kind: "EDITED", where: "record 3" });
  });

  it("has a record found whose hash was computed again", async () => {
    await sql("UPDATE audit SET target = 'x' WHERE target = 'b'");
    const [, edited] = await allRecords(store.audit);
    const { recordHash } = await import("../../../domain/audit/audit-record.ts");
    const hash = recordHash(edited ?? assert.fail(), sha256);
    const edit = `UPDATE audit SET hash = decode('${hash}', 'hex') WHERE seq = 2`;
    assert.deepEqual(await faultAfter(edit), { kind: "BROKEN", where: "record 3" });
  });

  it("has a removed record found", async () => {
    assert.deepEqual(await faultAfter("DELETE FROM audit WHERE seq = 2"), { kind: "GAP", where: "record 3" });
  });

  it("has a removed tail found by its anchors, and not without any", async () => {
    assert.equal(await anchors.seal([]), true);
    assert.equal(await anchors.seal([]), false, "nothing has moved");
    assert.equal(await verified(store.audit), null);
    await store.putPool({ name: "e", paused: true }, auditNote({ target: "e" }));
    await sql("DELETE FROM audit WHERE seq = 5");
    assert.equal(await verified(store.audit), null, "no anchor seals the record");
    assert.deepEqual(await faultAfter("DELETE FROM audit WHERE seq >= 3"), { kind: "CUT", where: "record 3" });
  });

  it("has a removed tail found by kept anchors after its own were removed, too", async () => {
    await anchors.seal([]);
    const kept = await store.audit.anchors(0, 100);
    assert.deepEqual(await faultBeside(kept), [undefined, undefined]);
    await sql("DELETE FROM audit WHERE seq >= 3; DELETE FROM audit_anchors");
    assert.equal(await verified(store.audit), null, "the log alone looks whole");
    assert.deepEqual(await faultBeside(kept), ["CUT", "ANCHOR"]);
    await store.close();
  });

  it("has a removed and an edited anchor found", async () => {
    await anchors.seal([]);
    await store.audit.write([auditNote()]);
    await anchors.seal([]);
    await sql("UPDATE audit_anchors SET at = at + 1 WHERE number = 2");
    assert.equal((await verified(store.audit))?.kind, "ANCHOR");
    assert.deepEqual(await faultAfter("DELETE FROM audit_anchors WHERE number = 1"), {
      kind: "ANCHOR",
      where: "anchor 2",
    });
  });

  it("has VOID in the place of a transaction that failed at its very end, and the change did not happen", async () => {
    await sql(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
      CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON audit DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        WHEN (NEW.target = 'doubtful') EXECUTE FUNCTION refuse()`);
    await assert.rejects(store.putPool({ name: "doubtful", paused: true }, auditNote({ target: "doubtful" })));
    await store.putPool({ name: "f", paused: true }, auditNote({ target: "f" }));
    const records = await allRecords(store.audit);
    assert.deepEqual(
      records.slice(4).map(({ seq, outcome, target }) => [seq, outcome, target]),
      [
        [5, "VOID", null],
        [6, "DONE", "f"],
      ],
    );
    assert.equal(
      (await store.readPools()).some(({ name }) => name === "doubtful"),
      false,
    );
    assert.equal(await verified(store.audit), null);
    await store.close();
  });

  it("has no submission whose record PostgreSQL refuses, although record and commit are sent together", async () => {
    await sql(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON audit FOR EACH ROW WHEN (NEW.target = 'refused') EXECUTE FUNCTION refuse()`);
    const scene = await Scene.open({ store, runtime, close: () => store.close() });
    const submit = (target: string, jobs: readonly NewJob[]) =>
      store.submit([{ idempotency: null, jobs, note: auditNote({ target }) }]);
    const [without, recorded] = [scene.job(), scene.job()];
    await assert.rejects(submit("refused", [without]));
    await submit("e", [recorded]);
    assert.equal(await store.queries.getJob(TENANT, without.jobId), null);
    assert.notEqual(await store.queries.getJob(TENANT, recorded.jobId), null);
    const records = await allRecords(store.audit);
    assert.deepEqual(
      records.slice(4).map(({ seq, outcome, target }) => [seq, outcome, target]),
      [
        [5, "VOID", null],
        [6, "DONE", "e"],
      ],
    );
    assert.equal(await verified(store.audit), null);
    await store.close();
  });
});
