import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { pino } from "pino";
import { type Authority, newAuthority } from "../../../../../tools/services/certificates.ts";
import type { CertificateSource, Credentials } from "../../ports/certificates.ts";
import type { ToApi } from "../../ports/messages.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { until } from "../system/until.fixture.ts";
import { Cluster, type TestNode } from "./mesh.fixture.ts";

/** Certificates that a test replaces. */
class Replaced implements CertificateSource {
  current: Credentials;
  readonly #listeners: ((credentials: Credentials) => void)[] = [];

  constructor(first: Credentials) {
    this.current = first;
  }

  onChange(renewed: (credentials: Credentials) => void): void {
    this.#listeners.push(renewed);
  }

  replace(next: Credentials): void {
    this.current = next;
    for (const renewed of this.#listeners) renewed(next);
  }
}

/** Certificate that a node has shown to another one. */
interface Shown {
  to: string;
  fingerprint: string;
}

/** A warning that a node has logged. */
interface Warned {
  by: string;
  msg: string;
  node?: string;
  reason?: string;
}

function logInto(warned: Warned[], by: string) {
  return pino({ level: "warn" }, { write: (line: string) => void warned.push({ by, ...JSON.parse(line) }) });
}

const final = (executionId: string): ToApi => ({ kind: "FINAL", executionId, state: "SUCCEEDED" });

describe("links between nodes after a change of certificates", () => {
  const cluster = new Cluster();
  let folder: string;
  let own: Authority;
  let other: Authority;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-links-"));
    [own, other] = [await newAuthority(folder, "ca"), await newAuthority(folder, "other")];
  });
  afterEach(() => cluster.close());
  after(() => rm(folder, { recursive: true }));

  let count = 0;
  const issued = async (by: Authority = own, name = "URI:mainspring://test/node", isExpired = false) => {
    const [file, names] = [`node-${++count}`, ["IP:127.0.0.1", name]] as const;
    const { certFile, keyFile } = await (isExpired ? by.issueExpired(file, names) : by.issue(file, names));
    const [cert, key, ca] = await Promise.all([certFile, keyFile, own.certFile].map((file) => readFile(file, "utf8")));
    return { cert: cert ?? "", key: key ?? "", ca: ca ?? "" } satisfies Credentials;
  };
  // The pauses between links are random, and here they are short.
  const runtime = { ...systemRuntime(), random: () => 0.02 };

  async function start(...names: string[]) {
    const shown: Shown[] = [];
    const warned: Warned[] = [];
    const sources: Replaced[] = [];
    const nodes: TestNode[] = [];
    for (const name of names) {
      const certificates = new Replaced(await issued());
      const served = (socket: unknown) => {
        const { raw } = (socket as TLSSocket).getPeerCertificate();
        shown.push({ to: name, fingerprint: new X509Certificate(raw).fingerprint256 });
      };
      const node = await cluster.startAs(name, { certificates, runtime, served, log: logInto(warned, name) });
      nodes.push(node);
      sources.push(certificates);
    }
    cluster.meet();
    await until(() => nodes.every(({ bus }) => bus.connected().length === names.length));
    return { nodes, sources, shown, warned };
  }

  it("are renewed one by one, lose no message, and show the new certificate", { timeout: 30_000 }, async () => {
    const { nodes, sources, shown } = await start("a", "b", "c");
    const [a, b, c] = nodes;
    assert.ok(a && b && c && sources[0]);
    const arrived: Record<string, string[]> = { b: [], c: [] };
    for (const node of [b, c]) {
      node.bus.listen("api", (envelopes) => {
        for (const { message } of envelopes)
          if (message.kind === "FINAL") arrived[node.bus.node]?.push(message.executionId);
      });
    }
    shown.splice(0);
    const next = await issued();
    sources[0].replace(next);
    const sent: string[] = [];
    for (let n = 0; shown.length < 2 || n < 200; n++) {
      sent.push(`e${n}`);
      for (const node of ["b", "c"]) a.bus.send({ node, role: "api" }, final(`e${n}`));
      assert.equal(a.bus.connected().length, 3, "a link that is renewed counts as open");
      await cluster.turn();
    }
    await until(() => arrived.b?.length === sent.length && arrived.c?.length === sent.length);
    assert.deepEqual([arrived.b, arrived.c], [sent, sent]);
    const { fingerprint256 } = new X509Certificate(next.cert ?? "");
    assert.deepEqual(
      shown.map(({ fingerprint }) => fingerprint),
      [fingerprint256, fingerprint256],
    );
    assert.deepEqual(shown.map(({ to }) => to).sort(), ["b", "c"]);
    assert.equal(a.bus.load().dropped, 0);
  });

  const wrong: [string, () => Promise<Credentials>][] = [
    ["of an authority that the others do not trust", () => issued(other)],
    ["of another cluster", () => issued(own, "URI:mainspring://elsewhere/node")],
    ["that has ended", () => issued(own, undefined, true)],
    ["without the name of a node", () => issued(own, "DNS:localhost")],
  ];
  for (const [what, make] of wrong) {
    it(`are closed with a certificate ${what}, and come back with a right one`, { timeout: 30_000 }, async () => {
      const { nodes, sources } = await start("a", "b");
      const [a, b] = nodes;
      assert.ok(a && b && sources[0]);
      sources[0].replace(await make());
      await until(() => !a.bus.connected().includes("b"));
      sources[0].replace(await issued());
      await until(() => a.bus.connected().includes("b"));
      const heard = b.heard();
      a.bus.send({ node: "b", role: "api" }, final("again"));
      assert.equal((await heard).length, 1);
    });
  }

  it("that have shown an expired certificate are missed with the reason, once by each end", {
    timeout: 30_000,
  }, async () => {
    const { nodes, sources, warned } = await start("a", "b");
    const [a, b] = nodes;
    assert.ok(a && b && sources[0]);
    sources[0].replace(await issued(own, undefined, true));
    const expired = (by: string, reason: RegExp) =>
      warned.filter(
        (one) => one.by === by && one.msg === "the mesh cannot reach another node" && reason.test(one.reason ?? ""),
      );
    const [ofOwn, ofOther] = [
      /the certificate by which this node proves itself has expired/,
      /Error: certificate has expired/,
    ];
    await until(() => expired("a", ofOwn).length > 0);
    // The link to the node has used the certificate from before until now.
    a.wire.reset();
    await until(() => expired("b", ofOther).length > 0);
    sources[0].replace(await issued());
    await until(() => a.bus.connected().includes("b") && b.bus.connected().includes("a"));
    assert.deepEqual([expired("a", ofOwn).length, expired("b", ofOther).length], [1, 1]);
  });
});
