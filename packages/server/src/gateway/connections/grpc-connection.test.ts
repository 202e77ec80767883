import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { ServerMessageSchema } from "@mainspring/proto";
import { LOOPBACK } from "../../security/settings-keys.ts";
import { assignment, ManualRuntime } from "../gateway.fixture.ts";
import { MESSAGE_MAX_TOKENS } from "../limits.ts";
import { Outgoing, serverMessage } from "../sessions/outgoing.ts";
import { wireTokenOf } from "../translate.ts";
import { GrpcConnection, type WorkerCall } from "./grpc-connection.ts";

const TOKEN = wireTokenOf(assignment(1));

/** A stream whose other end reads when the test says so. */
function scene() {
  const runtime = new ManualRuntime();
  const unread: (() => void)[] = [];
  const stuck: string[] = [];
  const written: Buffer[] = [];
  const write = (bytes: Buffer, done: () => void) => {
    written.push(bytes);
    unread.push(done);
  };
  const call = { write } as unknown as WorkerCall;
  const connection = new GrpcConnection(
    call,
    LOOPBACK,
    runtime,
    (detail) => stuck.push(detail),
    () => undefined,
  );
  const send = () => connection.send(serverMessage({ drain: true }));
  return { runtime, connection, send, read: () => unread.shift()?.(), stuck, written };
}

describe("a worker's stream", () => {
  it("is stuck when nothing was read for 30 s, counted from the first that is unread", () => {
    const { runtime, send, read, stuck } = scene();
    send();
    read();
    runtime.advance(20_000);
    send();
    runtime.advance(29_999);
    assert.deepEqual(stuck, []);
    runtime.advance(1);
    assert.deepEqual(stuck, ["it read nothing for 30 s"]);
  });

  it("is not stuck where the worker reads slowly, or has read all", () => {
    const { runtime, send, read, stuck } = scene();
    for (let n = 0; n < 6; n++) send();
    for (let n = 0; n < 6; n++) {
      runtime.advance(25_000);
      read();
    }
    runtime.advance(100_000);
    assert.deepEqual(stuck, []);
  });

  it("says nothing once it is over", () => {
    const { runtime, connection, send, stuck } = scene();
    send();
    connection.ended();
    runtime.advance(60_000);
    assert.deepEqual(stuck, []);
  });

  it("carries refusals of thousands of attempts in several messages, one in each turn, and what follows behind them", () => {
    const { runtime, connection, send, written } = scene();
    const outgoing = new Outgoing();
    outgoing.refused = Array.from({ length: 3 * MESSAGE_MAX_TOKENS }, () => TOKEN);
    for (const message of outgoing.take()) connection.send(message);
    send();
    assert.equal(written.length, 0);
    runtime.advance(0);
    const counts = written.map((bytes) => fromBinary(ServerMessageSchema, bytes).refused.length);
    assert.deepEqual(counts, [MESSAGE_MAX_TOKENS, MESSAGE_MAX_TOKENS, MESSAGE_MAX_TOKENS, 0]);
  });
});
