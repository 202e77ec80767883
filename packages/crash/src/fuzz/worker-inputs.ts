import { create, toBinary } from "@bufbuild/protobuf";
import { PROTOCOL_VERSION, WorkerMessageSchema, workerIdOf } from "@mainspring/proto";
import fc from "fast-check";
import { mutated, mutation } from "./mutation.ts";

/** Number of executions, small enough that inputs often concern known ones. */
const EXECUTIONS = 40;
const SECRET = "a-secret-of-one-of-the-workers";

export function executionId(n: number): string {
  return `01976e5f-5c00-7000-8000-${String(n % EXECUTIONS).padStart(12, "0")}`;
}

const text = fc.oneof(
  fc.string({ maxLength: 20 }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constant("\u0000"),
);
const uint32 = fc.oneof(fc.nat(70), fc.integer({ min: 0, max: 0xffffffff }));
const int64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.constant(0n));
const known = fc.nat(EXECUTIONS - 1).map((n) => ({ executionId: executionId(n), attempt: 1, shard: n % 64 }));
const token = fc.option(
  fc.oneof({ weight: 3, arbitrary: known }, fc.record({ executionId: text, attempt: uint32, shard: uint32 })),
  { nil: undefined, freq: 10 },
);
const few = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 4 });
const result = fc.oneof(
  fc.json({ maxDepth: 3 }).map((json) => Buffer.from(json)),
  fc.uint8Array({ maxLength: 40 }),
  fc.nat(300).map((depth) => Buffer.from("[".repeat(depth) + "]".repeat(depth))),
);
const failure = fc.record({ name: text, message: text, stack: text });
const finished = fc.record({
  ...{ token, outcome: fc.nat(8), startedAtMs: int64, finishedAtMs: int64, result },
  ...{ error: fc.option(failure, { nil: undefined }), advice: fc.nat(4), retryAtMs: int64 },
  branch: fc.option(fc.oneof(fc.constant("good"), text), { nil: undefined }),
});
const workerId = fc.oneof(
  fc.constantFrom("w1", "w2", "w3", workerIdOf(SECRET) ?? "", "builtin-node", "00000000-0000-8000-8000-000000000000"),
  text,
);

/** A valid hello, except for the changed fields. */
const hello = fc.record({
  protocolVersion: fc.constantFrom(PROTOCOL_VERSION, PROTOCOL_VERSION, PROTOCOL_VERSION, 0, 9),
  workerId,
  ...{ name: fc.oneof(fc.constant("a worker"), text), pool: fc.constantFrom("default", "other", "") },
  ...{ handlers: fc.array(fc.oneof(fc.constant("echo"), text), { maxLength: 3 }), capabilities: few(text) },
  ...{ slots: fc.oneof(fc.constant(5), uint32), prefetch: fc.oneof(fc.constant(0), uint32) },
  holds: few(fc.record({ token, startedAtMs: int64, finished: fc.boolean() })),
  ...{ connection: uint32, secret: fc.constantFrom("", SECRET, "x") },
});
const said = fc.record(
  {
    hello: fc.oneof({ weight: 40, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: hello }),
    started: few(fc.record({ token, startedAtMs: int64 })),
    finished: few(finished),
    heartbeat: fc.record({ running: uint32, loopLagMs: uint32 }),
    progress: few(fc.record({ token, fraction: fc.double(), message: text })),
    logs: few(fc.record({ token, atMs: int64, level: text, line: text })),
    draining: fc.integer({ min: 0, max: 30 }).map((random) => random === 0),
  },
  { requiredKeys: [] },
);
const bytesOf = (message: object) => toBinary(WorkerMessageSchema, create(WorkerMessageSchema, message));
const message = fc.oneof(
  { weight: 1, arbitrary: hello.map((first) => ({ hello: first })) },
  { weight: 5, arbitrary: said },
);

/** Regular messages, damaged messages, and arbitrary bytes. */
export const workerInput: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 5, arbitrary: message.map((init) => Buffer.from(bytesOf(init))) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(message, fc.array(mutation, { minLength: 1, maxLength: 4 }))
      .map(([init, mutations]) => mutated(bytesOf(init), mutations)),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 120 }).map((bytes) => Buffer.from(bytes)) },
);

/** A hello with which the gateway accepts a connection. */
export function rightHello(n: number): Buffer {
  const identity = { workerId: `worker-${n % 5}`, name: "a worker", pool: "default", handlers: ["echo"] };
  const first = { protocolVersion: PROTOCOL_VERSION, ...identity, slots: 10, prefetch: 5 };
  return Buffer.from(bytesOf({ hello: first }));
}
