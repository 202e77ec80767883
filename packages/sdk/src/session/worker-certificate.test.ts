import assert from "node:assert/strict";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, it } from "node:test";
import { newAuthority } from "../../../../tools/services/certificates.ts";
import { renewed, workerCertificate } from "./worker-certificate.ts";

describe("the certificate of a worker", () => {
  let folder: string;
  const at = (file: string) => join(folder, file);
  const own = () => ({ certFile: at("own.crt"), keyFile: at("own.key") });
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-worker-certificate-"));
    const authority = await newAuthority(folder, "ca");
    for (const name of ["own", "next"]) await authority.issue(name, ["URI:mainspring://test/worker/1"]);
  });
  after(() => rm(folder, { recursive: true }));

  it("is read again, and stays what it was while the files do not fit each other", async () => {
    const first = workerCertificate(own());
    assert.ok(first !== null);
    await copyFile(at("next.crt"), at("own.crt"));
    assert.deepEqual(renewed(first), first);
    await rm(at("own.crt"));
    assert.deepEqual(renewed(first), first);
    for (const end of ["crt", "key"]) await copyFile(at(`next.${end}`), at(`own.${end}`));
    assert.equal(renewed(first).pair.cert, await readFile(at("next.crt"), "utf8"));
  });

  it("comes from the environment, from both variables", (t) => {
    t.after(() => {
      delete process.env.MAINSPRING_WORKER_TLS_CERT;
      delete process.env.MAINSPRING_WORKER_TLS_KEY;
    });
    assert.equal(workerCertificate(undefined), null);
    process.env.MAINSPRING_WORKER_TLS_CERT = at("next.crt");
    assert.throws(() => workerCertificate(undefined), { code: "BAD_OPTION", message: /must be set together/ });
    process.env.MAINSPRING_WORKER_TLS_KEY = at("next.key");
    assert.equal(workerCertificate(undefined)?.files.keyFile, at("next.key"));
  });

  it("is refused with the reason, which does not repeat the key", async () => {
    await writeFile(at("text"), "no PEM at all");
    const { certFile, keyFile } = { certFile: at("next.crt"), keyFile: at("next.key") };
    for (const [files, message] of [
      [{ certFile: at("missing"), keyFile }, /ENOENT.*missing/],
      [{ certFile: at("text"), keyFile }, /text must begin with a certificate in PEM$/],
      [{ certFile, keyFile: at("text") }, /text must be a private key in PEM without a passphrase$/],
      [{ certFile, keyFile: at("ca.key") }, /ca.key is not the key of the certificate in .*next.crt$/],
    ] as const) {
      assert.throws(() => workerCertificate(files), { code: "BAD_OPTION", message });
    }
  });
});
