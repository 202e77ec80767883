import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import tls from "node:tls";
import { Client, type CreatedApiKey, task, Worker } from "@mainspring/sdk";
import { type Authority, newAuthority } from "../../../tools/services/certificates.ts";
import { asked, startTestServer, storeUrl, type TestServer } from "./adapters/sql/testing/databases.ts";
import { createKeyInStore } from "./key-in-store.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";

const LEVEL = "SELECT needs_level FROM mainspring.schema_migrations WHERE name = 'worker certificates'";

describe("workers whose key requires a certificate", () => {
  let server: TestServer;
  let node: RunningNode;
  let operator: Client;
  let folder: string;
  let authority: Authority;
  let other: Authority;
  let ca: string;
  let key: CreatedApiKey;
  let levels: unknown[];
  const at = (file: string) => join(folder, file);
  const nameOf = ({ keyId }: { keyId: string }) => `URI:mainspring://test/worker/${keyId}`;
  const filesOf = (file: string) => ({ certFile: at(`${file}.crt`), keyFile: at(`${file}.key`) });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-worker-certificates-"));
    [authority, other] = [await newAuthority(folder, "ca"), await newAuthority(folder, "other")];
    await authority.issue("node", ["DNS:localhost", "IP:127.0.0.1", "URI:mainspring://test/node"]);
    ca = await readFile(authority.certFile, "utf8");
    // The client of the SDK uses fetch, which trusts what the process trusts.
    tls.setDefaultCACertificates([...tls.getCACertificates("default"), ca]);
    server = await startTestServer();
    const database = await server.newDatabase();
    const store = storeUrl(database);
    const { key: root } = await createKeyInStore(
      { store, storeSchema: null, dataDir: "" },
      { kind: "OPERATOR", name: "root" },
    );
    node = await startLocalNode({
      ...{ MAINSPRING_STORE: store, MAINSPRING_BUILTIN_WORKER: "off", MAINSPRING_TLS_CA: authority.certFile },
      ...{ MAINSPRING_TLS_CERT: at("node.crt"), MAINSPRING_TLS_KEY: at("node.key") },
    });
    operator = new Client({ url: node.httpUrl, apiKey: root });
    await operator.keys.create({ kind: "WORKER", name: "without a certificate" });
    levels = (await asked(database, LEVEL)).flat();
    key = await operator.keys.create({ kind: "WORKER", name: "double", requireCert: true });
    levels.push(...(await asked(database, LEVEL)).flat());
    await authority.issue("worker", [nameOf(key)]);
  });
  after(async () => {
    await node?.stop();
    await server?.stop();
    await rm(folder, { recursive: true });
  });

  const warnings: string[] = [];
  const workerOf = (apiKey: string, file: string | null) =>
    new Worker({
      url: node.grpcAddress.replace("127.0.0.1", "https://localhost"),
      ...{ ca, apiKey, warn: (text) => warnings.push(text) },
      ...(file !== null && { certificate: filesOf(file) }),
      tasks: [task({ name: "double", run: (n: number) => 2 * n })],
    });
  const runs = async (payload: number) => {
    const { executionId } = await operator.submit({ target: { handler: "double" }, payload });
    assert.equal((await operator.getExecution(executionId, { waitSec: 60 })).result, 2 * payload);
  };
  const refusal = async (apiKey: string, file: string | null): Promise<string> => {
    const error = await workerOf(apiKey, file)
      .start()
      .then(
        () => null,
        (one: Error) => one,
      );
    assert.equal((error as { code?: string } | null)?.code, "WORKER_REFUSED", file ?? "none");
    return error?.message.replace(/^the server refused this worker: \S+: /, "") ?? "";
  };

  it("are listed with their keys, and the first such key keeps the release before from opening the store", async () => {
    assert.equal(key.certificateId, key.keyId);
    assert.equal((await operator.keys.get(key.keyId)).certificateId, key.keyId);
    assert.deepEqual(levels, [1, 3]);
    const record = (await operator.audit.list({ target: key.keyId }).next()).value;
    assert.equal(record?.detail?.requireCert, true);
    await assert.rejects(operator.keys.create({ kind: "CLIENT", name: "shop", requireCert: true }), {
      code: "BAD_REQUEST",
      message: /requireCert.*only a key of the kind WORKER requires one, and not CLIENT/,
    });
  });

  it("run jobs with the certificate of their key, while it and the node's are renewed, and with the successor of the key", async () => {
    for (const end of ["crt", "key"]) await copyFile(at(`worker.${end}`), at(`own.${end}`));
    const worker = workerOf(key.key, "own");
    await worker.start();
    await runs(1);
    await authority.issue("own", [nameOf(key)]);
    await authority.issue("node", ["DNS:localhost", "IP:127.0.0.1", "URI:mainspring://test/node"]);
    await node.lookAtCertificates();
    await runs(2);
    assert.deepEqual(warnings, []);
    const successor = await operator.keys.rotate(key.keyId);
    assert.equal(successor.certificateId, key.keyId);
    const next = workerOf(successor.key, "own");
    await next.start();
    await worker.stop();
    await runs(3);
    await next.stop();
  });

  it("are refused without the right certificate, and learn which one they need", async () => {
    const needed = `URI:mainspring://test/worker/${key.keyId}`;
    const remedy = new RegExp(`MAINSPRING_WORKER_TLS_CERT and .* alternative name ${needed}$`);
    const stranger = "019a0000-0000-7000-8000-000000000001";
    await authority.issue("stranger", [nameOf({ keyId: stranger }), `DNS:${key.keyId}`]);
    await authority.issue("elsewhere", [`URI:mainspring://other/worker/${key.keyId}`]);
    await other.issue("foreign", [needed]);
    await authority.issueExpired("expired", [needed]);
    for (const [file, reason] of [
      [null, /^the API key requires a certificate, and the worker has shown none/],
      ["stranger", new RegExp(`^the certificate of the worker is not for its API key, .*/worker/${stranger}`)],
      ["elsewhere", /alternative names are URI:mainspring:\/\/other\/worker/],
      ["node", /alternative names are DNS:localhost, .*URI:mainspring:\/\/test\/node/],
      ["foreign", /^the certificate of the worker is not good by the authorities in MAINSPRING_TLS_CA/],
      ["expired", /^the certificate of the worker, or its authority's, has expired/],
    ] as const) {
      const told = await refusal(key.key, file);
      assert.match(told, reason);
      assert.match(told, remedy);
    }
  });

  it("are refused with the right certificate once their key is revoked", async () => {
    const revoked = await operator.keys.create({ kind: "WORKER", name: "revoked", requireCert: true });
    await authority.issue("revoked", [nameOf(revoked)]);
    await operator.keys.revoke(revoked.keyId);
    assert.match(await refusal(revoked.key, "revoked"), /the API key is wrong, or it was revoked/);
  });

  it("are other workers than those whose key requires none, which may show any or none", async () => {
    const plain = await operator.keys.create({ kind: "WORKER", name: "plain" });
    for (const file of [null, "foreign", "expired"]) {
      const worker = workerOf(plain.key, file);
      await assert.doesNotReject(worker.start());
      await worker.stop();
    }
  });

  it("and clients say that the certificate of their server has expired", async () => {
    await authority.issueExpired("old", ["DNS:localhost", "IP:127.0.0.1", "URI:mainspring://test/node"]);
    const old = await startLocalNode({
      ...{ MAINSPRING_STORE: storeUrl(await server.newDatabase()), MAINSPRING_API_KEY: "the-key-of-an-operator" },
      ...{
        MAINSPRING_TLS_CERT: at("old.crt"),
        MAINSPRING_TLS_KEY: at("old.key"),
        MAINSPRING_TLS_CA: authority.certFile,
      },
    });
    try {
      await assert.rejects(new Client({ url: old.httpUrl, retryForMs: 0 }).me(), {
        code: "UNAVAILABLE",
        message: /^the certificate of https:\S+ has expired: the operator of the server must renew it/,
      });
      const warned = Promise.withResolvers<string>();
      const url = old.grpcAddress.replace("127.0.0.1", "https://localhost");
      const tasks = [task({ name: "echo", run: () => 1 })];
      const worker = new Worker({ url, ca, apiKey: "the-key-of-an-operator", tasks, warn: warned.resolve });
      worker.start().catch(() => undefined);
      assert.match(await warned.promise, /the certificate of localhost:\d+ has expired: .* The worker goes on trying$/);
      await worker.stop();
    } finally {
      await old.stop();
    }
  });
});
