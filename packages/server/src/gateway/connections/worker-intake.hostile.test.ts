import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { HelloSchema, type WorkerMessage, WorkerMessageSchema } from "@mainspring/proto";
import { executionId, ManualRuntime } from "../gateway.fixture.ts";
import {
  INTAKE_BURST_BYTES,
  INTAKE_BYTES_PER_SEC,
  INTAKE_MESSAGE_BYTES,
  PIECE_MAX_BYTES,
  RECEIVED_MESSAGE_MAX_BYTES,
} from "../limits.ts";
import { WorkerIntake } from "./worker-intake.ts";

function scene() {
  const runtime = new ManualRuntime();
  const seen = { messages: [] as WorkerMessage[], taken: 0, finished: 0, refused: [] as string[], isPaused: false };
  const stream = { pause: () => (seen.isPaused = true), resume: () => (seen.isPaused = false) };
  const intake = new WorkerIntake(stream, runtime, {
    take: (message) => {
      seen.taken++;
      seen.messages.push(message);
      seen.finished += message.finished.length;
    },
    refuse: (detail) => seen.refused.push(detail),
  });
  return { runtime, intake, seen };
}

/** A message that consists only of these bytes, as large as a message may be. */
function floodOf(...unit: number[]): Buffer {
  const units = Math.floor(RECEIVED_MESSAGE_MAX_BYTES / unit.length);
  return Buffer.alloc(units * unit.length, Buffer.from(unit));
}

function bytesOf(message: MessageInitShape<typeof WorkerMessageSchema>): Buffer {
  return Buffer.from(toBinary(WorkerMessageSchema, create(WorkerMessageSchema, message)));
}

describe("what a gateway reads from a worker", () => {
  const floods: [string, Buffer][] = [
    ["empty starts", floodOf(0x12, 0)],
    ["empty results", floodOf(0x1a, 0)],
    ["empty log lines", floodOf(0x32, 0)],
    ["fields that nobody knows", floodOf(0xaa, 1, 0)],
  ];
  for (const [what, flood] of floods) {
    it(`reads a message of ${what} a little in each turn of the loop, and nothing else meanwhile`, () => {
      const { runtime, intake, seen } = scene();
      intake.hear(flood);
      assert.deepEqual([seen.taken, seen.isPaused], [1, true]);
      runtime.advance(1_000);
      assert.deepEqual([seen.isPaused, seen.refused], [false, []]);
      assert.ok(seen.taken >= RECEIVED_MESSAGE_MAX_BYTES / PIECE_MAX_BYTES, `${seen.taken} pieces`);
    });
  }

  const crowds: [string, Buffer][] = [
    ["one result of a million errors", Buffer.concat([Buffer.from([0x1a, 0x80, 0x80, 0x80, 1]), floodOf(0x32, 0)])],
    ["one start of a million fields", Buffer.concat([Buffer.from([0x12, 0x80, 0x80, 0x80, 1]), floodOf(0x10, 0)])],
    ["an answer of empty holds", Buffer.concat([Buffer.from([0x4a, 0x80, 0x80, 0x80, 1]), floodOf(0x12, 0)])],
    ["a hello of empty holds", Buffer.concat([Buffer.from([0x0a, 0x80, 0x80, 0x80, 1]), floodOf(0x4a, 0)])],
  ];
  for (const [what, flood] of crowds) {
    it(`refuses a message of ${what} before it takes memory, and nothing is heard after it`, () => {
      const { intake, seen } = scene();
      intake.hear(flood);
      intake.hear(bytesOf({ draining: true }));
      assert.equal(seen.taken, 0);
      assert.deepEqual(seen.refused.length, 1);
      assert.match(seen.refused[0] ?? "", /(start|hello|holds).* may have \d+ fields.*: see/);
    });
  }

  it("hears a large hello at once, when all of it was read", () => {
    const { runtime, intake, seen } = scene();
    const token = (n: number) => ({ executionId: executionId(n), attempt: 1, shard: 1 });
    const holds = Array.from({ length: 12_000 }, (_, n) => ({ token: token(n), startedAtMs: 5n, finished: true }));
    const hello = { workerId: "w", handlers: ["a", "b"], holds, connection: 7, secret: "s" };
    intake.hear(bytesOf({ hello, started: [{ token: token(1) }] }));
    assert.equal(seen.taken, 0, "it is not whole yet");
    runtime.advance(1_000);
    const heard = seen.messages[0]?.hello ?? create(HelloSchema);
    const isSame =
      Buffer.compare(toBinary(HelloSchema, heard), toBinary(HelloSchema, create(HelloSchema, hello))) === 0;
    assert.ok(isSame && heard.holds.length === holds.length, "it says what was sent");
    assert.equal(seen.messages[1]?.started.length, 1);
  });

  it("hears a large answer about a worker's attempts at once, when all of it was read", () => {
    const { runtime, intake, seen } = scene();
    const holds = Array.from({ length: 12_000 }, (_, n) => ({
      token: { executionId: executionId(n), attempt: 1, shard: 1 },
      startedAtMs: 5n,
    }));
    intake.hear(bytesOf({ holds: { nonce: 3n, holds }, draining: true }));
    assert.deepEqual([seen.messages.filter((message) => message.holds !== undefined).length, seen.refused], [0, []]);
    runtime.advance(1_000);
    const heard = seen.messages.find((message) => message.holds !== undefined)?.holds;
    assert.deepEqual([heard?.nonce, heard?.holds.length, seen.refused], [3n, holds.length, []]);
    assert.equal(heard?.holds.at(-1)?.token?.executionId, executionId(11_999));
    assert.ok(seen.messages.some(({ draining }) => draining));
  });

  it("refuses bytes that are no message, and says what they should be", () => {
    const { intake, seen } = scene();
    intake.hear(Buffer.from("no protobuf at all"));
    assert.match(seen.refused[0] ?? "", /no message of the worker protocol: see WorkerMessage/);
  });

  it("takes the largest batch that an SDK has ever sent", () => {
    const { runtime, intake, seen } = scene();
    const finished = Array.from({ length: 13_107 }, (_, n) => ({
      token: { executionId: executionId(n), attempt: 1, shard: 1 },
      ...{ outcome: 2, startedAtMs: 1n, finishedAtMs: 2n, advice: 2, retryAtMs: 3n },
      error: { name: "E", message: "m", stack: "s" },
    }));
    intake.hear(bytesOf({ finished }));
    runtime.advance(1_000);
    assert.deepEqual([seen.finished, seen.refused], [finished.length, []]);
  });

  it("lets a worker wait that sends more than may be read of one in a second", () => {
    const { runtime, intake, seen } = scene();
    const message = bytesOf({ draining: true });
    const cost = message.length + INTAKE_MESSAGE_BYTES;
    let sent = 0;
    for (; !seen.isPaused; sent++) intake.hear(message);
    assert.equal(sent, Math.floor(INTAKE_BURST_BYTES / cost) + 1);
    runtime.advance(1);
    assert.equal(seen.isPaused, false);
    for (let ms = 0; ms < 1_000; ms++) {
      for (; !seen.isPaused; sent++) intake.hear(message);
      runtime.advance(1);
    }
    assert.ok(sent * cost <= INTAKE_BURST_BYTES + 1.01 * INTAKE_BYTES_PER_SEC, `${sent} messages`);
    assert.equal(seen.taken, sent, "none was lost");
  });
});
