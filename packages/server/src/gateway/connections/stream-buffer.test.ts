import assert from "node:assert/strict";
import { once } from "node:events";
import { it, type TestContext } from "node:test";
import { Client, credentials, type ServerDuplexStream } from "@grpc/grpc-js";
import pino from "pino";
import { ManualRuntime } from "../gateway.fixture.ts";
import { RECEIVED_MESSAGE_MAX_BYTES } from "../limits.ts";
import { startGrpcServer } from "./grpc-server.ts";

/** Messages that grpc-js buffers for a paused stream: the high-water mark of a stream of objects. */
const HELD_MAX = 16;
const SENT = 40;
const PATH = "/test.Streams/Open";

type Call = ServerDuplexStream<Buffer, Buffer>;

/** A server whose streams are not read until the test does, and a client with two streams over one connection. */
async function scene(t: TestContext) {
  const calls: Call[] = [];
  const asIs = (bytes: Buffer) => bytes;
  const serve = (call: Call) => {
    call.on("end", () => call.end()).once("data", () => call.pause());
    calls.push(call);
  };
  const service = {
    path: PATH,
    serve: serve as (call: ServerDuplexStream<never, never>) => void,
    read: asIs,
    write: asIs,
  };
  const server = await startGrpcServer({
    ...{ workers: null, services: [service], host: "127.0.0.1", port: 0, isAuthorized: () => true },
    ...{ runtime: new ManualRuntime(), log: pino({ level: "silent" }) },
  });
  const client = new Client(server.address, credentials.createInsecure());
  t.after(async () => {
    client.close();
    for (const call of calls) call.emit("error", { code: 1 });
    await server.stop();
  });
  const open = async () => {
    const stream = client.makeBidiStreamRequest<Buffer, Buffer>(PATH, asIs, asIs).on("error", () => undefined);
    const count = calls.length;
    stream.write(Buffer.from("first"));
    while (calls.length === count) await new Promise((resolve) => setImmediate(resolve));
    return { stream, call: calls[count] as Call };
  };
  return { open };
}

it("a paused stream holds sixteen messages at most, and its peer waits until they are read", async (t) => {
  const { open } = await scene(t);
  const [flood, other] = [await open(), await open()];
  for (let n = 0; n < SENT; n++) flood.stream.write(Buffer.alloc(RECEIVED_MESSAGE_MAX_BYTES));
  flood.stream.end();
  // Messages of the other stream come after all that flow control lets the first one send.
  other.call.resume();
  for (let rounds = 0; flood.call.readableLength < HELD_MAX || rounds < 20; rounds++) {
    const heard = once(other.call, "data");
    other.stream.write(Buffer.from("round"));
    await heard;
    assert.ok(flood.call.readableLength <= HELD_MAX, `${flood.call.readableLength} are held`);
  }
  let read = 0;
  flood.call.on("data", () => {
    read++;
    assert.ok(flood.call.readableLength <= HELD_MAX, `${flood.call.readableLength} are held`);
  });
  flood.call.resume();
  await once(flood.call, "end");
  assert.equal(read, SENT);
});
