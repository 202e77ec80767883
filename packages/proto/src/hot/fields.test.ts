import assert from "node:assert/strict";
import { it } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { WorkerMessageSchema } from "../gen/mainspring/worker/v1/worker_pb.js";
import { countFields, piecesOf } from "./fields.ts";

it("counts the fields of a message and of those within it", () => {
  const token = { executionId: "e", attempt: 1, shard: 2 };
  const message = create(WorkerMessageSchema, {
    hello: { workerId: "w", handlers: ["a", "b"], holds: [{ token, finished: true }, { token }] },
    started: [{ token, startedAtMs: 5n }],
    finished: [{ token, error: { name: "E", message: "m" } }],
  });
  // The hello: itself, a name, two handlers, two holds with tokens of three fields, and one `finished`.
  assert.equal(countFields(WorkerMessageSchema, toBinary(WorkerMessageSchema, message), 1_000), 15 + 6 + 8);
});

it("stops beyond the limit, and ends on whatever bytes", () => {
  const flood = new Uint8Array(4 * 1024 * 1024).map((_, at) => (at % 2 === 0 ? 0x12 : 0));
  assert.equal(countFields(WorkerMessageSchema, flood, 100), 101);
  for (let seed = 0; seed < 2_000; seed++) {
    const bytes = new Uint8Array(40).map((_, at) => (seed * 31 + at * at * 17 + (seed >> 3)) % 256);
    assert.ok(countFields(WorkerMessageSchema, bytes, 1_000) <= 41);
  }
});

it("cuts a message into pieces that are messages, and together say the same", () => {
  const finished = Array.from({ length: 100 }, (_, n) => ({ token: { executionId: `e${n}`, attempt: 1, shard: 2 } }));
  const message = create(WorkerMessageSchema, { hello: { workerId: "w" }, finished, draining: true });
  const bytes = toBinary(WorkerMessageSchema, message);
  const pieces = [...piecesOf(WorkerMessageSchema, bytes, { fields: 50, bytes: 1_000, counted: 1_000 })];
  assert.ok(pieces.length > 5 && pieces.every(({ fields }) => fields <= 50));
  assert.deepEqual(pieces.map(({ first }) => first).slice(0, 2), [1, 3]);
  const read = pieces.map((piece) => fromBinary(WorkerMessageSchema, piece.bytes));
  assert.deepEqual(
    read.flatMap((part) => part.finished),
    message.finished,
  );
  assert.equal(read.at(-1)?.draining, true);
  assert.deepEqual(fromBinary(WorkerMessageSchema, Buffer.concat(pieces.map((piece) => piece.bytes))), message);
});

it("gives a field of its own piece that is too large, and says so", () => {
  const holds = Array.from({ length: 100 }, () => ({ finished: true }));
  const bytes = toBinary(WorkerMessageSchema, create(WorkerMessageSchema, { hello: { holds }, draining: true }));
  const pieces = [...piecesOf(WorkerMessageSchema, bytes, { fields: 50, bytes: 1_000, counted: 150 })];
  assert.deepEqual(
    pieces.map(({ first, fields }) => [first, fields]),
    [
      [1, 151],
      [7, 1],
    ],
  );
});
