import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { PeerCertificate } from "node:tls";
import { newAuthority } from "../../../../../tools/services/certificates.ts";
import { clusterIn, nodeOrHost } from "./node-identity.ts";

describe("the name of a node in a certificate", () => {
  const certificateOf = (subjectaltname: string) => ({ subjectaltname, subject: { CN: "x" } }) as PeerCertificate;
  const accepts = (names: string, cluster: string | null = "test") =>
    nodeOrHost((name) => name === cluster)("10.0.0.5", certificateOf(names)) === undefined;

  it("admits a node of the cluster at any address, and every server with the right host", () => {
    assert.equal(accepts("DNS:elsewhere, URI:mainspring://test/node"), true);
    assert.equal(accepts("URI:mainspring://other/node"), false);
    assert.equal(accepts("URI:mainspring://test/worker"), false);
    assert.equal(accepts("IP Address:10.0.0.5"), true);
    assert.equal(accepts("URI:mainspring://test/node", null), false);
  });

  it("is not read out of another name that contains it", () => {
    assert.equal(accepts('DNS:"a, URI:mainspring://test/node, b"'), false);
    assert.equal(accepts('DNS:"a\\", URI:mainspring://test/node, b"'), false);
  });

  it("is found in a real certificate", async () => {
    const folder = await mkdtemp(join(tmpdir(), "mainspring-certificates-"));
    const authority = await newAuthority(folder, "ca");
    const { certFile } = await authority.issue("node", ["IP:127.0.0.1", "URI:mainspring://test/node"]);
    assert.equal(clusterIn(await readFile(certFile, "utf8")), "test");
    await rm(folder, { recursive: true });
  });
});
