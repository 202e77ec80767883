import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { MeshPacketSchema } from "@mainspring/proto";
import { GREETING_MAX_BYTES, GREETINGS_MAX, MESSAGE_MAX_FIELDS, PACKET_MAX_PARTS } from "./limits.ts";
import { Cluster, KEY, type TestNode } from "./mesh.fixture.ts";
import { RawStream } from "./raw-stream.fixture.ts";

describe("what the mesh reads of a stream", () => {
  const cluster = new Cluster();
  const streams: RawStream[] = [];
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
    return cluster.close();
  });

  const stream = (to: TestNode) => {
    const opened = new RawStream(to.address, KEY);
    streams.push(opened);
    return opened;
  };
  const welcomed = async () => {
    const [a] = await cluster.start("a", "b");
    const opened = stream(a);
    opened.hello("b", "a");
    assert.ok((await opened.reply()).welcome);
    return opened;
  };
  const packet = (messages: string, attachments: Uint8Array[] = []) =>
    toBinary(MeshPacketSchema, create(MeshPacketSchema, { messages: Buffer.from(messages), attachments }));

  it("is a small greeting first", async () => {
    const [a] = await cluster.start("a");
    const large = stream(a);
    large.sayBytes(new Uint8Array(GREETING_MAX_BYTES + 1));
    assert.match((await large.status).details, /a greeting has at most 4096 bytes/);
    const long = stream(a);
    long.hello("b".repeat(257), "a");
    assert.match((await long.status).details, /from must name a node/);
    const salty = stream(a);
    salty.hello("b", "a", "n".repeat(129));
    assert.match((await salty.status).details, /the nonce may have 128 characters/);
  });

  it("leaves room for a node, however many streams wait for a welcome", async () => {
    const a = await cluster.startAs("a", { leaseWithinMs: 60_000 });
    cluster.meet();
    const silent = Array.from({ length: GREETINGS_MAX }, () => stream(a));
    for (const one of silent) one.hello("nobody", "a");
    const b = await cluster.startAs("b", {});
    cluster.meet();
    await cluster.until(() => a.bus.load().connections + b.bus.load().connections === 2);
    const { code } = await Promise.race(silent.map((one) => one.status));
    assert.equal(code, status.RESOURCE_EXHAUSTED);
  });

  const floods: [string, Uint8Array][] = [
    ["a message of many fields", Buffer.alloc(3 * (MESSAGE_MAX_FIELDS + 1), Buffer.from([0xaa, 1, 0]))],
    ["bytes that are no message", Buffer.from("no protobuf at all")],
  ];
  for (const [what, bytes] of floods) {
    it(`ends at ${what}`, async () => {
      const opened = await welcomed();
      opened.sayBytes(bytes);
      assert.equal((await opened.status).code, status.INVALID_ARGUMENT);
    });
  }

  const packets: [string, Uint8Array][] = [
    ["a packet whose messages are no list", packet('{"a":1}')],
    ["a packet whose messages are no JSON", packet("[")],
    ["a packet of a million empty attachments", Buffer.alloc(2_000_000, Buffer.from([0x12, 0]))],
    ["a packet of nothing", new Uint8Array(0)],
  ];
  for (const [what, part] of packets) {
    it(`ends at ${what}`, async () => {
      const opened = await welcomed();
      opened.say({ part });
      assert.equal((await opened.status).code, status.INVALID_ARGUMENT);
    });
  }

  it("ends at a packet of too many empty parts", async () => {
    const opened = await welcomed();
    for (let part = 0; part <= PACKET_MAX_PARTS; part++) opened.say({ more: true });
    assert.equal((await opened.status).code, status.INVALID_ARGUMENT);
  });

  it("goes on after messages that it does not know", async () => {
    const opened = await welcomed();
    opened.say({ part: packet('[1,null,["api",null],["api",{"kind":"NEW"}],["x",{}],["scheduler",{"kind":"ASK"}]]') });
    opened.say({ part: packet("1") });
    assert.equal((await opened.status).code, status.INVALID_ARGUMENT, "only the second ended it");
  });
});
