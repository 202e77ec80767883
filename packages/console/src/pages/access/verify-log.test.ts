import assert from "node:assert/strict";
import { generateKeyPairSync, hash, type KeyObject, sign } from "node:crypto";
import { after, before, describe, it } from "node:test";
import { type AuditAnchor, type AuditRecord, anchorHash, FIRST_PREV, recordHash } from "@mainspring/contract/audit-log";
import { NoPublicKey, verifyLog } from "./verify-log.ts";

const CHAIN = "00000000-0000-4000-8000-000000000001";
/** More than one page. */
const COUNT = 1_200;
const sha256 = (text: string) => hash("sha256", text, "hex");
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const pem = (key: KeyObject, type: "spki" | "pkcs8") => String(key.export({ type, format: "pem" } as never));

const records = recordsOf(COUNT);
const anchor = anchorOf(records);

describe("the verification of the audit log in a browser", () => {
  const { fetch } = globalThis;
  let served: readonly AuditRecord[] = records;
  before(() => {
    Object.assign(globalThis, { document: { baseURI: "http://127.0.0.1/console/" }, fetch: answer });
  });
  after(() => {
    Object.assign(globalThis, { document: undefined, fetch });
  });

  /** Answers as the API does. */
  const answer = async (address: URL) => {
    const items = address.pathname.endsWith("/anchors") ? [anchor] : served;
    const from = Number(address.searchParams.get("cursor"));
    const until = from + Number(address.searchParams.get("limit"));
    const page = items.slice(from, until).map((one) => ({ ...one, at: new Date(one.at).toISOString() }));
    return Response.json({ items: page, nextCursor: until < items.length ? String(until) : null });
  };
  const verified = (key = "", kept: readonly AuditAnchor[] = []) =>
    verifyLog({ key, kept, signal: new AbortController().signal, tell: () => undefined });

  it("finds nothing in a sound log, with the key and with kept anchors", async () => {
    const sound = { records: COUNT, chains: 1, anchors: 1, isWhole: true, fault: null };
    assert.deepEqual(await verified(), sound);
    assert.deepEqual(await verified(pem(publicKey, "spki"), [anchor]), sound);
  });

  it("finds an anchor that another key has signed, or that differs from a kept one", async () => {
    const { publicKey: other } = generateKeyPairSync("ed25519");
    assert.equal((await verified(pem(other, "spki"))).fault?.kind, "UNSIGNED");
    assert.equal((await verified("", [anchorOf(records.slice(0, 9))])).fault?.kind, "ANCHOR");
  });

  it("finds an edited record, and a missing end", async () => {
    served = records.with(1_100, { ...(records[1_100] as AuditRecord), target: "another" });
    const { fault } = await verified();
    assert.deepEqual([fault?.kind, fault?.where], ["EDITED", `record 1101 of the chain ${CHAIN}`]);
    served = records.slice(0, -1);
    assert.equal((await verified()).fault?.kind, "CUT");
    served = records;
  });

  it("takes no private key, and no other text", async () => {
    for (const key of [pem(privateKey, "pkcs8"), "a key"]) await assert.rejects(verified(key), NoPublicKey);
  });
});

function recordsOf(count: number): AuditRecord[] {
  let prev = FIRST_PREV;
  return Array.from({ length: count }, (_, place) => {
    const record: Omit<AuditRecord, "hash"> = {
      ...{
        tenant: "default",
        actor: { kind: "SYSTEM" as const, keyId: null, for: null },
        action: "startNode",
        target: null,
      },
      ...{ outcome: "DONE" as const, requestId: null, address: null, detail: { share: place / 7, names: ["ü"] } },
      ...{ chain: CHAIN, seq: place + 1, at: 1_800_000_000_000 + place, prev },
    };
    prev = recordHash(record, sha256);
    return { ...record, hash: prev };
  });
}

function anchorOf(sealed: readonly AuditRecord[]): AuditAnchor {
  const { seq, hash: head } = sealed.at(-1) as AuditRecord;
  const heads = [{ chain: CHAIN, seq, hash: head }];
  const fields = { number: 1, at: 1_900_000_000_000, heads, floors: [], prev: FIRST_PREV };
  const digits = anchorHash(fields, sha256);
  return { ...fields, hash: digits, signature: sign(null, Buffer.from(digits), privateKey).toString("base64") };
}
