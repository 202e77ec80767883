import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { newAuthority } from "../../../../../tools/services/certificates.ts";
import { createLog } from "../../ops/logging.ts";
import { ManualRuntime } from "../../ports/manual-runtime.fixture.ts";
import { Certificates } from "./certificates.ts";

const NODE = ["IP:127.0.0.1", "URI:mainspring://test/node"];

describe("certificates from files", () => {
  let folder: string;
  const at = (file: string) => join(folder, file);
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-certificates-"));
    const authority = await newAuthority(folder, "ca");
    for (const name of ["one", "two"]) await authority.issue(name, NODE, 30);
    await authority.issue("short", NODE, 3);
  });
  after(() => rm(folder, { recursive: true }));

  const open = async (cert: string, key: string, ca: string | null = "ca.crt") => {
    const lines: string[] = [];
    const log = createLog("warn", { write: (line) => void lines.push(line) });
    const files = { setting: "MAINSPRING_TLS", cert: at(cert), key: at(key), ca: ca === null ? null : at(ca) };
    const runtime = new ManualRuntime();
    return { certificates: await Certificates.open(files, { runtime, log }), runtime, lines };
  };

  it("are refused with the setting and the file if they cannot be used", async () => {
    await writeFile(at("empty.crt"), "");
    await assert.rejects(open("missing.crt", "one.key"), /^CertificateUnusable: MAINSPRING_TLS_CERT must name a file/);
    await assert.rejects(
      open("empty.crt", "one.key"),
      /MAINSPRING_TLS_CERT: .*empty\.crt must begin with a certificate/,
    );
    await assert.rejects(
      open("one.crt", "two.key"),
      /MAINSPRING_TLS_KEY: .*two\.key is not the key of the certificate/,
    );
    await assert.rejects(open("one.crt", "one.crt"), /MAINSPRING_TLS_KEY: .*must be a private key in PEM without/);
    await assert.rejects(open("one.crt", "one.key", "empty.crt"), /MAINSPRING_TLS_CA: .*must begin with a certificate/);
  });

  it("are renewed when both files have changed, and the ones before stay in use until then", async () => {
    for (const kind of ["crt", "key"]) await copyFile(at(`one.${kind}`), at(`own.${kind}`));
    const { certificates, lines } = await open("own.crt", "own.key");
    const first = certificates.current;
    const renewed: (string | null)[] = [];
    certificates.onChange(({ cert }) => renewed.push(cert));
    await copyFile(at("two.crt"), at("own.crt"));
    for (let look = 0; look < 3; look++) await certificates.look();
    assert.deepEqual([certificates.current, renewed], [first, []]);
    const warned = () => lines.filter((text) => text.includes("cannot be used"));
    assert.equal(warned().length, 1);
    await copyFile(at("two.key"), at("own.key"));
    await certificates.look();
    assert.notEqual(certificates.current.cert, first.cert);
    assert.deepEqual(renewed, [certificates.current.cert]);
    certificates.close();
  });

  it("are looked at every 10 seconds", async () => {
    for (const kind of ["crt", "key"]) await copyFile(at(`one.${kind}`), at(`timed.${kind}`));
    const { certificates, runtime } = await open("timed.crt", "timed.key");
    const changed = new Promise<void>((resolve) => certificates.onChange(() => resolve()));
    for (const kind of ["crt", "key"]) await copyFile(at(`two.${kind}`), at(`timed.${kind}`));
    const first = certificates.current;
    await runtime.advance(10_000);
    await changed;
    assert.notEqual(certificates.current.cert, first.cert);
    certificates.close();
  });

  it("tell when they end", async () => {
    const { certificates } = await open("one.crt", "one.key");
    const { certificates: shorter } = await open("short.crt", "short.key");
    const days = Math.round(((certificates.expiresAt ?? 0) - (shorter.expiresAt ?? 0)) / 86_400_000);
    assert.equal(days, 27);
    shorter.close();
    certificates.close();
  });
});
