import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import { type Logger, pino } from "pino";
import { startEtcd, type TestEtcd, type TestMember } from "../../../../../tools/services/start-etcd.ts";
import { leasesConformance } from "../../ports/conformance/leases.conformance.ts";
import { type EtcdAddress, etcdAddress } from "../../ports/etcd-address.ts";
import { LeasesUnavailable, LeasesUnusable, type NodeLease, type NodeProfile } from "../../ports/leases.ts";
import type { Runtime } from "../../ports/runtime.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { METHODS } from "./etcd-client.ts";
import { EtcdLeases } from "./etcd-leases.ts";

const runtime = systemRuntime();
const passed = (ms: number) => new Promise<void>((resolve) => runtime.setTimer(ms, resolve));

let etcd: TestEtcd;
let clusters = 0;
before(async () => {
  etcd = await startEtcd();
});
after(() => etcd.stop());

/** Address of a cluster of Mainspring of its own. */
function newAddress(url = etcd.url): EtcdAddress {
  const address = etcdAddress(url) as EtcdAddress;
  return { ...address, prefix: `test-${clusters++}` };
}

leasesConformance("etcd", async () => {
  const address = newAddress();
  const opened: EtcdLeases[] = [];
  return {
    leases() {
      const leases = new EtcdLeases({ address, runtime, log: pino({ level: "silent" }) });
      opened.push(leases);
      return leases;
    },
    // A renewal is as old as the client has known it, so every client looks at the leases first, as nodes do all the time.
    async pass(ms) {
      for (const leases of opened) await leases.list();
      await passed(ms);
    },
    async close() {
      for (const leases of opened) leases.close();
    },
  };
});

const NODE = { name: "n", address: "n:1", roles: ["scheduler"], version: "1", level: 3, startedAt: 1 } as const;
const named = (incarnation: string): NodeProfile => ({ ...NODE, incarnation });
const namesOf = (nodes: readonly NodeLease[]) => nodes.map(({ incarnation }) => incarnation).sort();

describe("leases in etcd", () => {
  const opened: EtcdLeases[] = [];
  const open = (address: EtcdAddress, clock: Runtime = runtime, log: Logger = pino({ level: "silent" })) => {
    const leases = new EtcdLeases({ address, runtime: clock, log });
    opened.push(leases);
    return leases;
  };
  afterEach(() => {
    for (const leases of opened.splice(0)) leases.close();
  });
  /** Repeats what fails while etcd elects a leader. */
  const eventually = async <T>(ask: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof LeasesUnavailable)) throw error;
        await passed(20);
      }
    }
  };

  /** Member that leads, as soon as there is one. */
  const leading = async (): Promise<TestMember> => {
    for (;;) {
      const leads = await Promise.all(etcd.members.map((member) => member.leads()));
      const leader = etcd.members[leads.indexOf(true)];
      if (leader !== undefined) return leader;
      await passed(20);
    }
  };

  it("end by themselves, for a node that has never seen them before, too", async () => {
    const address = newAddress();
    await open(address).renew(named("a"), 1_000);
    const beganMs = runtime.monotonicMs();
    while ((await open(address).list()).length > 0) await passed(50);
    const tookMs = runtime.monotonicMs() - beganMs;
    assert.ok(tookMs >= 1_000, `gone after ${tookMs} ms, and the node trusts its lease for 1000`);
  });

  it("are renewed by another member when one stands still, and when the leader is killed", async () => {
    const leases = open(newAddress());
    await leases.renew(named("a"), 3_000);
    const [first] = etcd.members as [TestMember];
    first.freeze();
    assert.deepEqual(namesOf(await eventually(() => leases.renew(named("a"), 3_000))), ["a"]);
    first.resume();
    const leader = await leading();
    await leader.kill();
    assert.deepEqual(namesOf(await eventually(() => leases.renew(named("a"), 3_000))), ["a"]);
    await leader.restart();
  });

  it("cannot be renewed while a majority of the members stands still, and can afterwards", async () => {
    const leases = open(newAddress());
    await leases.renew(named("a"), 3_000);
    const most = etcd.members.slice(1);
    for (const member of most) member.freeze();
    try {
      // A call without a timeout would hang here, until the limit of the test.
      for (const ask of [() => leases.renew(named("a"), 3_000), () => leases.list(), () => leases.drain("a", true)])
        await assert.rejects(ask, LeasesUnavailable);
    } finally {
      for (const member of most) member.resume();
    }
    assert.deepEqual(namesOf(await eventually(() => leases.renew(named("a"), 3_000))), ["a"]);
  });

  it("are taken again where somebody has revoked them", async () => {
    const address = newAddress();
    const [a, b] = [open(address), open(address)];
    await a.renew(named("a"), 3_000);
    const { kvs } = (await etcd.ask("kv/range", rangeOf(address))) as { kvs: { lease: string }[] };
    await etcd.ask("kv/lease/revoke", { ID: kvs[0]?.lease });
    assert.deepEqual(namesOf(await b.renew(named("b"), 3_000)), ["b"]);
    assert.deepEqual(namesOf(await a.renew(named("a"), 3_000)), ["a", "b"]);
    assert.equal(await b.drain("a", true), true);
  });

  it("keep no history of old renewals", async () => {
    const skip = { ms: 0 };
    const clock = { ...runtime, monotonicMs: () => runtime.monotonicMs() + skip.ms };
    const address = newAddress();
    const [first, second] = [open(address, clock), open(address, clock)];
    const revisionOf = async () =>
      Number(((await etcd.ask("kv/range", rangeOf(address))) as { header: { revision: string } }).header.revision);
    await first.renew(named("a"), 60_000);
    await second.renew(named("b"), 60_000);
    const early = await revisionOf();
    for (let n = 0; n < 100; n++) await first.renew(named("a"), 60_000);
    const marked = await revisionOf();
    const isKept = (revision: number) =>
      etcd.ask("kv/range", { ...rangeOf(address), revision }).then(
        () => true,
        (error: Error) => {
          assert.match(error.message, /compacted/);
          return false;
        },
      );
    assert.equal(await isKept(early), true);
    skip.ms = 61_000;
    await second.renew(named("b"), 60_000);
    assert.equal(await isKept(early), true, "the node with the lowest id drops revisions, not this one");
    await first.renew(named("a"), 60_000);
    skip.ms = 122_000;
    await first.renew(named("a"), 60_000);
    while (await isKept(marked)) await passed(10);
    assert.deepEqual(namesOf(await first.renew(named("a"), 60_000)), ["a"]);
  });

  it("leave alone what is no lease, and say so once", async () => {
    const lines: string[] = [];
    const address = newAddress();
    const leases = open(address, runtime, pino({ level: "warn" }, { write: (line) => void lines.push(line) }));
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const put = (key: string, value: string) =>
      etcd.ask("kv/put", { key: base64(`/${address.prefix}/leases/${key}`), value: base64(value) });
    await put("nodes/x", "{");
    await put("nodes/y", JSON.stringify({ ...named("y"), roles: ["king"], ttlMs: 1 }));
    await put("other", "");
    for (let n = 0; n < 3; n++) assert.deepEqual(namesOf(await leases.renew(named("a"), 3_000)), ["a"]);
    assert.equal(lines.length, 1);
    assert.match(lines[0] as string, /"keys":3,.*no leases of nodes/);
  });

  it("are kept apart by the prefix of the address", async () => {
    const [one, other] = [open(newAddress()), open(newAddress())];
    await one.renew(named("a"), 3_000);
    assert.deepEqual(namesOf(await other.renew(named("b"), 3_000)), ["b"]);
  });
});

const RIGHTS =
  /^MAINSPRING_ETCD must have a user that may read and write the keys that begin with \/test\/leases\/: etcdserver: /;

describe("an etcd with TLS and a login", () => {
  const log = pino({ level: "silent" });
  let guarded: TestEtcd;
  before(async () => {
    guarded = await startEtcd({ members: 1, tls: true });
    await addUser("reads-only", "READ", "/test/leases/");
    await addUser("writes-elsewhere", "READWRITE", "/other/leases/");
    await addUser("keeps-leases", "READWRITE", "/test/leases/");
    await guarded.demandLogin("to p:secret");
  });
  after(() => guarded.stop());
  const open = (url: string) => new EtcdLeases({ address: etcdAddress(url) as EtcdAddress, runtime, log });
  /** Adds a user with the password pw and a right on the keys that begin with a text, which ends with a slash. */
  const addUser = async (name: string, permType: "READ" | "READWRITE", prefix: string) => {
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const perm = { permType, key: base64(prefix), range_end: base64(prefix.replace(/\/$/, "0")) };
    const calls: [string, object][] = [
      ["auth/role/add", { name }],
      ["auth/role/grant", { name, perm }],
      ["auth/user/add", { name, password: "pw" }],
      ["auth/user/grant", { user: name, role: name }],
    ];
    for (const [path, body] of calls) await guarded.ask(path, body);
  };
  const withLogin = (login: string) => guarded.url.replace("https://", `https://${login}@`);
  const refused = async (url: string): Promise<Error> => {
    const leases = open(url);
    try {
      return await leases.check().then(
        () => assert.fail("not refused"),
        (error: Error) => error,
      );
    } finally {
      leases.close();
    }
  };

  it("serves who has the right certificate and the password, also after its restart", async () => {
    const leases = open(withLogin("root:to%20p%3Asecret"));
    await leases.check();
    assert.deepEqual(namesOf(await leases.renew(named("a"), 60_000)), ["a"]);
    const [member] = guarded.members as [TestMember];
    await member.kill();
    await assert.rejects(leases.list(), LeasesUnavailable);
    // It has forgotten who was logged in.
    await member.restart();
    const untilMs = runtime.monotonicMs() + 10_000;
    const names = () => leases.list().then(namesOf, () => []);
    while ((await names()).length === 0 && runtime.monotonicMs() < untilMs) await passed(20);
    assert.deepEqual(await names(), ["a"]);
    leases.close();
  });

  it("serves a user who has the rights on its keys alone", async () => {
    const leases = open(withLogin("keeps-leases:pw"));
    await leases.check();
    assert.ok(namesOf(await leases.renew(named("b"), 60_000)).includes("b"));
    leases.close();
  });

  it("refuses others, with a sentence that names the setting and no password", async () => {
    const wrong = await refused(withLogin("root:wrong-secret"));
    assert.ok(wrong instanceof LeasesUnusable);
    assert.match(wrong.message, /^MAINSPRING_ETCD has a user or a password that etcd refuses/);
    assert.doesNotMatch(wrong.message, /wrong-secret/);
    const nobody = await refused(guarded.url);
    assert.ok(nobody instanceof LeasesUnusable);
    assert.match(nobody.message, RIGHTS);
    for (const name of ["reads-only", "writes-elsewhere"])
      assert.match((await refused(withLogin(`${name}:pw`))).message, RIGHTS, name);
    const { ca, cert, key } = guarded.tls as NonNullable<TestEtcd["tls"]>;
    const stranger = await refused(withLogin("root:x").replace(ca, cert));
    assert.ok(stranger instanceof LeasesUnavailable);
    assert.match(stranger.message, /certificate/);
    const unknown = await refused(withLogin("root:x").replace(`&cert=${cert}&key=${key}`, ""));
    assert.ok(unknown instanceof LeasesUnavailable);
    await assert.rejects(async () => open(guarded.url.replace(ca, "/no/such/file")), {
      name: "LeasesUnusable",
      message: "MAINSPRING_ETCD must name a file that can be read in ca: /no/such/file (ENOENT)",
    });
  });
});

describe("a server that is no etcd for leases", () => {
  /** Answers as an etcd of the version, or as another gRPC server. */
  const serverOf = async (version: string | null): Promise<{ url: string; close: () => void }> => {
    const server = new Server();
    const { path, output } = METHODS.status;
    const definition = {
      ...{ path, requestStream: true, responseStream: true },
      requestSerialize: (bytes: Buffer) => bytes,
      requestDeserialize: (bytes: Buffer) => bytes,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    };
    if (version !== null)
      server.addService(
        { status: definition },
        {
          status: (call: ServerDuplexStream<Buffer, Buffer>) => {
            call.resume();
            call.write(Buffer.from(toBinary(output, create(output, { version }))));
            call.end();
          },
        },
      );
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    return { url: `http://127.0.0.1:${port}`, close: () => server.forceShutdown() };
  };
  const faults: [string | null, RegExp][] = [
    ["3.3.27", /^MAINSPRING_ETCD leads to an etcd of version 3\.3\.27: it must be 3\.4 or newer$/],
    [null, /^MAINSPRING_ETCD leads to a server that is no etcd$/],
  ];
  for (const [version, expected] of faults)
    it(`is refused: ${version ?? "another service"}`, async () => {
      const server = await serverOf(version);
      const leases = new EtcdLeases({ address: newAddress(server.url), runtime, log: pino({ level: "silent" }) });
      await assert.rejects(
        leases.check(),
        (error: Error) => error instanceof LeasesUnusable && expected.test(error.message),
      );
      leases.close();
      server.close();
    });
});

function rangeOf({ prefix }: EtcdAddress): { key: string; range_end: string } {
  const base64 = (text: string) => Buffer.from(text).toString("base64");
  return { key: base64(`/${prefix}/leases/`), range_end: base64(`/${prefix}/leases0`) };
}
