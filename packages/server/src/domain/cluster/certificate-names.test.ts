import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clusterNamed, workerCertificateFault } from "./certificate-names.ts";

const KEY = "019a0000-0000-7000-8000-000000000007";
const RIGHT = `URI:mainspring://test/worker/${KEY}`;

describe("the certificate of a worker", () => {
  const faultOf = (names: string | undefined, cluster: string | null = "test") =>
    workerCertificateFault(KEY, cluster, { kind: "TRUSTED", names });

  it("is right with the name of the key in the cluster, among others", () => {
    assert.equal(faultOf(RIGHT), null);
    assert.equal(faultOf(`DNS:gpu-7, ${RIGHT}, IP Address:10.0.0.5`), null);
  });

  it("is wrong with every other name", () => {
    for (const names of [
      undefined,
      "",
      `DNS:mainspring://test/worker/${KEY}`,
      `URI:mainspring://other/worker/${KEY}`,
      `URI:mainspring://test/worker/${KEY.replace("7000", "7001")}`,
      `${RIGHT}0`,
      RIGHT.slice(0, -1),
      `URI:https://test/worker/${KEY}`,
      "URI:mainspring://test/node",
      `DNS:"a, ${RIGHT}, b"`,
      `DNS:"a\\", ${RIGHT}, b"`,
    ]) {
      assert.match(faultOf(names) ?? "", /not for its API key/, names);
    }
  });

  it("proves nothing without an authority that vouches for it, and without a cluster to be for", () => {
    const faults = (["PLAIN", "UNASKED", "NONE"] as const).map(
      (kind) => workerCertificateFault(KEY, "test", { kind }) ?? "",
    );
    assert.deepEqual(
      faults.map((fault) => fault.match(/came without TLS|server cannot check one|worker has shown none/)?.[0]),
      ["came without TLS", "server cannot check one", "worker has shown none"],
    );
    const untrusted = (code: string) => workerCertificateFault(KEY, "test", { kind: "UNTRUSTED", code }) ?? "";
    assert.match(untrusted("CERT_HAS_EXPIRED"), /has expired: set .*URI:mainspring:\/\/test\/worker\//);
    assert.match(untrusted("CERT_NOT_YET_VALID"), /not valid yet/);
    assert.match(
      untrusted("SELF_SIGNED_CERT_IN_CHAIN"),
      /MAINSPRING_TLS_CA of the server \(SELF_SIGNED_CERT_IN_CHAIN\)/,
    );
    assert.match(
      faultOf(RIGHT, null) ?? "",
      /names no cluster: it needs the alternative name URI:mainspring:\/\/CLUSTER\/node/,
    );
  });

  it("is repeated to the worker within bounds", () => {
    assert.ok((faultOf(`DNS:${"a".repeat(100_000)}`) ?? "").length < 1_000);
  });
});

it("a node has the name of its cluster, and a worker has none", () => {
  assert.equal(clusterNamed("DNS:localhost, URI:mainspring://test/node"), "test");
  assert.equal(clusterNamed(RIGHT), null);
  assert.equal(clusterNamed(undefined), null);
});
