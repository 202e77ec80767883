import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { ServerMessageSchema, WorkerMessageSchema } from "../gen/mainspring/worker/v1/worker_pb.js";
import { decodeServerMessage, decodeWorkerMessage, encodeServerMessage, encodeWorkerMessage } from "./codec.ts";

const text = fc.oneof(fc.uuid(), fc.string(), fc.string({ unit: "grapheme", maxLength: 300 }));
const uint32 = fc.oneof(fc.nat(300), fc.integer({ min: 0, max: 0xffffffff }));
const instant = fc.oneof(fc.maxSafeNat().map(BigInt), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
const epoch = fc.oneof(fc.maxSafeNat().map(BigInt), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));
const bytes = fc.uint8Array({ maxLength: 300 });
const token = fc.record({ executionId: text, attempt: uint32, shard: uint32 });
const list = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 5 });

const assign = fc.record(
  {
    token,
    handler: text,
    payload: bytes,
    timeoutMs: uint32,
    cancelGraceMs: uint32,
    failures: uint32,
    maxAttempts: uint32,
    scheduledAtMs: instant,
    epoch,
  },
  { requiredKeys: [] },
);
const finished = fc.record(
  {
    token,
    outcome: fc.nat(9),
    startedAtMs: instant,
    finishedAtMs: instant,
    result: bytes,
    advice: fc.nat(2),
    stillRunning: fc.boolean(),
    branch: text,
  },
  { requiredKeys: [] },
);
const error = fc.record({ name: text, message: text, stack: text });
const serverMessage = fc
  .record(
    {
      assigns: list(assign),
      acks: list(token),
      refused: list(token),
      cancels: list(fc.record({ token, graceMs: uint32 })),
      welcome: fc.record({ heartbeatIntervalMs: uint32, gateway: text, nowMs: instant }),
      drain: fc.boolean(),
      resendResults: fc.boolean(),
      ask: fc.record({ nonce: epoch, tokens: list(token), epochs: list(fc.record({ shard: uint32, epoch })) }),
      takeBack: list(token),
    },
    { requiredKeys: ["assigns", "acks"] },
  )
  .map((init) => create(ServerMessageSchema, init));
const workerMessage = fc
  .record(
    {
      started: list(fc.record({ token, startedAtMs: instant }, { requiredKeys: [] })),
      finished: list(fc.record({ base: finished, error: fc.option(error, { nil: undefined }) })),
      heartbeat: fc.record({ running: uint32, loopLagMs: uint32 }),
      logs: list(fc.record({ token, line: text })),
      draining: fc.boolean(),
      ended: list(token),
      holds: fc.record({ nonce: epoch, holds: list(fc.record({ token, finished: fc.boolean(), over: fc.boolean() })) }),
    },
    { requiredKeys: ["started", "finished"] },
  )
  .map(({ finished: ends, ...init }) => {
    const all = ends.map((end) => ({ ...end.base, ...(end.error !== undefined && { error: end.error }) }));
    return create(WorkerMessageSchema, { ...init, finished: all });
  });

describe("the hot messages", () => {
  it("say what the generated code says, byte for byte", () => {
    fc.assert(
      fc.property(serverMessage, (message) => {
        assert.deepEqual([...encodeServerMessage(message)], [...toBinary(ServerMessageSchema, message)]);
      }),
    );
    fc.assert(
      fc.property(workerMessage, (message) => {
        assert.deepEqual([...encodeWorkerMessage(message)], [...toBinary(WorkerMessageSchema, message)]);
      }),
    );
  });

  it("are understood as the generated code understands them", () => {
    fc.assert(
      fc.property(serverMessage, (message) => {
        const sent = Buffer.from(toBinary(ServerMessageSchema, message));
        assert.deepEqual(plain(decodeServerMessage(sent)), plain(fromBinary(ServerMessageSchema, sent)));
      }),
    );
    fc.assert(
      fc.property(workerMessage, (message) => {
        const sent = Buffer.from(toBinary(WorkerMessageSchema, message));
        assert.deepEqual(plain(decodeWorkerMessage(sent)), plain(fromBinary(WorkerMessageSchema, sent)));
      }),
    );
  });

  it("carry the branches of results, even one without a character", () => {
    for (const branch of ["good", "", "ü", "x".repeat(200)]) {
      const message = create(WorkerMessageSchema, { finished: [{ outcome: 1, branch }, { outcome: 1 }] });
      const sent = Buffer.from(encodeWorkerMessage(message));
      assert.deepEqual([...sent], [...toBinary(WorkerMessageSchema, message)]);
      const [named, plainResult] = decodeWorkerMessage(sent).finished;
      assert.deepEqual([named?.branch, plainResult?.branch], [branch, undefined]);
    }
  });

  it("that were damaged are taken or refused as the generated code does it", () => {
    const damage = fc.array(fc.record({ at: fc.nat(), to: fc.nat(255) }), { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(workerMessage, damage, fc.nat(20), (message, changes, cut) => {
        const sent = Buffer.from(toBinary(WorkerMessageSchema, message));
        for (const { at, to } of changes) if (sent.length > 0) sent[at % sent.length] = to;
        const damaged = sent.subarray(0, Math.max(0, sent.length - cut));
        assert.deepEqual(
          outcomeOf(() => decodeWorkerMessage(damaged)),
          outcomeOf(() => fromBinary(WorkerMessageSchema, damaged)),
        );
      }),
      { numRuns: 2_000 },
    );
  });
});

function outcomeOf(decode: () => object): unknown {
  try {
    return plain(decode());
  } catch {
    return "refused";
  }
}

/** Without prototypes and kinds of byte arrays, which nobody looks at. */
function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return [...value];
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}
