import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { after, describe, it } from "node:test";
import { setImmediate } from "node:timers/promises";
import { create, toBinary } from "@bufbuild/protobuf";
import { MeshMessageSchema, MeshPacketSchema } from "@mainspring/proto";
import { createGateway, createLog, FEATURE_LEVEL, MeshBus, systemRuntime } from "@mainspring/server/testing";
import { LoopProbe } from "../../../../tools/loop-probe.ts";
import { holdsBriefly } from "./holds-briefly.ts";

const KEY = "the-api-key-of-a-hostile-node";
const [NODE, OTHER] = ["a-node", "a-hostile-node"];
const MIB = 1024 * 1024;
const ID = "01976e5f-5c00-7000-8000-000000000001";
const TOKEN = JSON.stringify({ shard: 1, executionId: ID, attempt: 1 });
const RESULT = `{"shard":1,"executionId":"${ID}","attempt":1,"workerId":"w","state":"SUCCEEDED","startedAt":1,"finishedAt":2,"result":null,"error":null,"advice":null}`;
const FINAL = `["api",{"kind":"FINAL","executionId":"${ID}","state":"SUCCEEDED"}]`;
const LAST = `["api",{"kind":"FINAL","executionId":"last","state":"SUCCEEDED"}]`;

/** A long text of repeated items, and a last message. */
function textOf(begin: string, item: string, end: string, bytes = 15.9 * MIB): string {
  const count = Math.floor(bytes / (item.length + 1));
  return `[${begin}${`${item},`.repeat(count - 1)}${item}${end},${LAST}]`;
}

const ACK = '["gateway",{"kind":"ACK","workerId":"w","tokens":[';
const TEXTS: Record<string, string> = {
  "16 MiB of small messages": textOf("", FINAL, ""),
  "16 MiB of messages that nobody knows": textOf("", '["x",{}]', ""),
  "a message of 16 MiB": textOf(ACK, TOKEN, "]}]"),
  "a message of 4 MiB": textOf(ACK, TOKEN, "]}]", 3.9 * MIB),
  "16 MiB of results": textOf('["scheduler",{"kind":"FINISHED","results":[', RESULT, "]}]"),
  "16 MiB of blanks": textOf("", FINAL + " ".repeat(64), "", 15.9 * MIB),
};

describe("packets of another node", () => {
  const [runtime, log] = [systemRuntime(), createLog("silent")];
  const secrets: string[] = [];
  const bus = new MeshBus({
    ...{ node: NODE, level: FEATURE_LEVEL, apiKey: KEY, secrets, runtime, log },
    isAuthorized: (authorization) => authorization === `Bearer ${KEY}`,
  });
  const lease = { name: OTHER, address: "127.0.0.1:9", roles: [], version: "1", level: FEATURE_LEVEL, startedAt: 1 };
  bus.meet([{ ...lease, incarnation: OTHER }]);
  const gateway = createGateway({ bus, runtime, log });
  const probe = new LoopProbe();
  let told: (() => void) | null = null;
  const ends = [
    bus.listen("scheduler", () => undefined),
    bus.listen("api", (mail) => {
      if (mail.some(({ message }) => message.kind === "FINAL" && message.executionId === "last")) told?.();
    }),
  ];
  after(() => {
    probe.stop();
    for (const end of ends) end();
    gateway.close();
    bus.close();
  });

  /** A stream in the form in which the gRPC server gives it to the mesh. */
  const stream = () => {
    const nothing = () => undefined;
    const means = { metadata: { get: () => [`Bearer ${KEY}`] }, write: () => true, end: nothing, pause: nothing };
    const call = Object.assign(new EventEmitter(), { ...means, resume: nothing });
    bus.service.serve(call as unknown as Parameters<MeshBus["service"]["serve"]>[0]);
    const say = (message: object) =>
      call.emit("data", Buffer.from(toBinary(MeshMessageSchema, create(MeshMessageSchema, message))));
    say({ hello: { protocolVersion: 1, from: OTHER, to: NODE, featureLevel: FEATURE_LEVEL } });
    return { call, say };
  };
  /** @returns null: the last message of the packet was delivered; else the reason why the stream ended */
  const deliver = async (packet: Uint8Array) => {
    const { call, say } = stream();
    const all = new Promise<string | null>((resolve) => {
      told = () => resolve(null);
      call.on("error", ({ details }: { details: string }) => resolve(details));
    });
    for (let at = 0; at < packet.length; at += MIB) {
      say({ part: packet.subarray(at, at + MIB), more: at + MIB < packet.length });
      await setImmediate();
    }
    const fault = await all;
    call.emit("cancelled");
    return fault;
  };
  const packetOf = (text: string, attachments: Uint8Array[] = []) =>
    toBinary(MeshPacketSchema, create(MeshPacketSchema, { messages: Buffer.from(text), attachments }));

  for (const [name, text] of Object.entries(TEXTS)) {
    it(`are read in turns where they have ${name}`, async (t) => {
      const packet = packetOf(text);
      await holdsBriefly(t, probe, async () => assert.equal(await deliver(packet), null));
    });
  }

  it("are read in turns where they have as many attachments as a packet may have", async (t) => {
    const packet = packetOf(
      `[${LAST}]`,
      Array.from({ length: 199_000 }, () => new Uint8Array(1)),
    );
    await holdsBriefly(t, probe, async () => assert.equal(await deliver(packet), null));
  });

  it("are read in turns where they have 30 MiB", async (t) => {
    const packet = packetOf(
      TEXTS["16 MiB of results"] ?? "",
      Array.from({ length: 14 }, () => new Uint8Array(MIB)),
    );
    await holdsBriefly(t, probe, async () => assert.equal(await deliver(packet), null));
    assert.ok(packet.length > 29 * MIB);
  });
});
