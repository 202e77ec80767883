import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AuditVerifier } from "@mainspring/contract/audit-log";
import { type AuditRecord, boundedDetail, canonicalJson } from "../domain/audit/audit-record.ts";
import { auditNote } from "./audit.fixture.ts";
import { AuditChain, type RecordWriter, sha256, writeEntry } from "./audit-chain.ts";

const CHAIN = "00000000-0000-4000-8000-000000000001";

/** Rows of a store whose transactions can be lost in three ways. */
class Rows {
  readonly rows: AuditRecord[] = [];
  fate: "COMMITTED" | "FAILED" | "IN_DOUBT" = "COMMITTED";

  readonly chain = new AuditChain(CHAIN, () => 5.5);

  /** Runs a transaction with one record. */
  change(action: string): Promise<void> {
    return this.chain.append([auditNote({ action })], async (entry) => {
      const written: AuditRecord[] = [];
      const at = (seq: number) => [...this.rows, ...written].find((row) => row.seq === seq);
      const writer: RecordWriter = {
        add: async (record) => void written.push(record),
        settle: async (record) => {
          if (at(record.seq) === undefined) written.push(record);
          return at(record.seq)?.hash ?? assert.fail();
        },
      };
      const head = await writeEntry(entry, writer);
      const { fate } = this;
      this.fate = "COMMITTED";
      if (fate !== "FAILED") this.rows.push(...written);
      if (fate !== "COMMITTED") throw new Error("no answer");
      return { answer: undefined, head };
    });
  }

  fault() {
    const verifier = new AuditVerifier({ digest: sha256, isSigned: null });
    for (const record of this.rows) {
      const fault = verifier.record(record);
      if (fault !== null) return fault;
    }
    return verifier.end();
  }

  get actions(): string[] {
    return this.rows.map(({ action }) => action);
  }
}

describe("a chain of the audit log", () => {
  it("has a VOID record in the place of a transaction that has failed", async () => {
    const store = new Rows();
    await store.change("a");
    store.fate = "FAILED";
    await assert.rejects(store.change("b"));
    store.fate = "FAILED";
    await assert.rejects(store.change("c"));
    await store.change("d");
    assert.deepEqual(store.actions, ["a", "void", "void", "d"]);
    assert.deepEqual(
      store.rows.map(({ seq, outcome }) => [seq, outcome]),
      [
        [1, "DONE"],
        [2, "VOID"],
        [3, "VOID"],
        [4, "DONE"],
      ],
    );
    assert.equal(store.fault(), null);
  });

  it("goes on behind a record whose transaction was committed although its answer was lost", async () => {
    const store = new Rows();
    store.fate = "IN_DOUBT";
    await assert.rejects(store.change("a"));
    store.fate = "FAILED";
    await assert.rejects(store.change("b"));
    store.fate = "IN_DOUBT";
    await assert.rejects(store.change("c"));
    await store.change("d");
    assert.deepEqual(store.actions, ["a", "void", "c", "d"]);
    assert.equal(store.fault(), null);
  });

  it("survives any order of fates", async () => {
    const fates = ["COMMITTED", "FAILED", "IN_DOUBT"] as const;
    for (let number = 0; number < 3 ** 5; number++) {
      const store = new Rows();
      for (let change = 0; change < 5; change++) {
        store.fate = fates[Math.floor(number / 3 ** change) % 3] ?? "COMMITTED";
        await store.change(`${change}`).catch(() => undefined);
      }
      await store.change("end");
      assert.equal(store.fault(), null, `fates ${number}`);
      assert.equal(store.rows.length, 6);
    }
  });

  it("writes no record, and leaves no gap, for a transaction that changes nothing", async () => {
    const store = new Rows();
    await store.chain.append([auditNote()], async () => ({ answer: undefined, head: null }));
    await store.change("a");
    assert.deepEqual(
      store.rows.map(({ seq }) => seq),
      [1],
    );
  });

  it("shows each kind of change to a record, an order, a place and an end", async () => {
    const store = new Rows();
    for (const action of ["a", "b", "c", "d"]) await store.change(action);
    const [a, b, c, d] = store.rows as [AuditRecord, AuditRecord, AuditRecord, AuditRecord];
    const kindOf = (...records: AuditRecord[]) => {
      store.rows.splice(0, store.rows.length, ...records);
      return store.fault()?.kind;
    };
    assert.equal(kindOf(a, b, c, d), undefined);
    for (const edit of [{ target: "x" }, { detail: {} }, { at: 6 }, { tenant: "x" }, { address: null }] as const)
      assert.equal(kindOf(a, { ...b, ...edit }, c, d), "EDITED");
    assert.equal(kindOf(a, { ...b, actor: { ...b.actor, keyId: "x" } }, c, d), "EDITED");
    assert.equal(kindOf(a, c, d), "GAP");
    assert.equal(kindOf(b, c, d), "GAP");
    assert.equal(kindOf(a, c, b, d), "GAP");
    assert.equal(kindOf(a, b, b, c), "ORDER");
    assert.equal(kindOf(a, b, c), undefined);
  });
});

describe("the text of a record", () => {
  it("does not depend on the order of fields, and has no field that is undefined", () => {
    assert.equal(
      canonicalJson({ b: [1, { d: null, c: "ü" }], a: undefined, Z: true }),
      '{"Z":true,"b":[1,{"c":"ü","d":null}]}',
    );
  });

  it("has a bounded detail", () => {
    const long = Array.from({ length: 1_000 }, (_, n) => `field ${n}`);
    assert.deepEqual(boundedDetail({ fields: ["a"] }), { fields: ["a"] });
    assert.deepEqual(boundedDetail({ fields: long, count: 7 }), { fields: long.slice(0, 8), count: 7 });
    const many = Object.fromEntries(long.map((name) => [name, "ü".repeat(200)]));
    assert.deepEqual(boundedDetail(many), { shortened: true });
  });
});
