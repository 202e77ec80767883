import { create, toBinary } from "@bufbuild/protobuf";
import { MESH_PROTOCOL_VERSION, MeshMessageSchema, MeshPacketSchema } from "@mainspring/proto";
import { FEATURE_LEVEL, type Role } from "@mainspring/server/testing";
import fc from "fast-check";
import { mutated, mutation } from "./mutation.ts";

/** Name of the fuzzed node, and name of the node in whose name inputs are sent. */
export const NODE = "fuzzed-node";
export const OTHER = "other-node";

const ROLES: readonly Role[] = ["api", "scheduler", "gateway"];
const id = fc.oneof(
  fc.constantFrom("w1", "w2", OTHER, NODE, "01976e5f-5c00-7000-8000-000000000001"),
  fc.string({ maxLength: 9 }),
);
const count = fc.oneof(fc.nat(70), fc.constantFrom(0, -1, 0.5, Number.MAX_SAFE_INTEGER, 1e300));
const shard = fc.oneof(fc.nat(63), count);
const token = { shard, executionId: id, attempt: count };
const few = <T>(item: fc.Arbitrary<T>) => fc.array(item, { maxLength: 3 });
const demand = few(fc.record({ pool: id, rank: fc.double() }));
const shards = few(fc.record({ shard, epoch: count }));
const assign = fc.record({
  ...token,
  ...{ epoch: count, workerId: id, gateway: id, account: count, credit: count, handler: id },
  ...{ payload: fc.constantFrom(null, 0, 1, 99), payloadBytes: count, timeoutMs: count, cancelGraceMs: count },
  ...{ failures: count, maxAttempts: count, scheduledAt: count },
});
const result = fc.record({
  ...token,
  ...{ workerId: id, state: fc.constantFrom("SUCCEEDED", "FAILED", "RELEASED", "SUSPENDED", "X"), startedAt: count },
  ...{ finishedAt: count, result: fc.constantFrom(null, 0, 7), error: fc.constant(null), advice: fc.constant(null) },
  branch: fc.constantFrom(undefined, "good", "no name", 7),
});
const kind = <K extends string>(name: K) => ({ kind: fc.constant(name) });
const tokens = { workerId: id, tokens: few(fc.record(token)) };

/** Messages that a node may send, with arbitrary content. */
const letter = fc.oneof(
  fc.record({ ...kind("OWNER"), term: count, life: count, shards, demand }),
  fc.record({ ...kind("DEMAND"), term: count, demand }),
  fc.record({ ...kind("VOID"), workerId: id, account: count, credits: few(count) }),
  fc.record({ ...kind("WHO"), workerIds: few(id) }),
  fc.record({ ...kind("ASSIGN"), assigns: few(assign) }),
  fc.record({
    ...kind("CANCEL"),
    ...{ workerId: id, token: fc.record(token), reason: fc.constantFrom("REQUESTED", "X"), graceMs: count },
  }),
  fc.record({ ...kind("ACK"), ...tokens }),
  fc.record({ ...kind("REFUSED"), ...tokens }),
  fc.record({ ...kind("LIST_WORKERS"), request: id }),
  fc.record({ ...kind("LIST_HANDLERS"), request: id }),
  fc.record({
    ...kind("HANDLERS"),
    ...{ request: id, isWhole: fc.boolean() },
    offers: few(
      fc.record({
        pool: id,
        handler: id,
        workers: count,
        declared: few(fc.record({ isHome: fc.boolean(), policies: id, workers: count })),
      }),
    ),
  }),
  fc.record({ ...kind("DRAIN_WORKER"), request: id, workerId: id }),
  fc.record({ ...kind("FOLLOW"), follows: few(fc.record({ executionId: id, after: fc.double() })) }),
  fc.record({ ...kind("UNFOLLOW"), executionIds: few(id) }),
  fc.record({ ...kind("FINISHED"), results: few(result) }),
  fc.record({ ...kind("FINAL"), executionId: id, state: fc.constant("SUCCEEDED") }),
  fc.record({ kind: fc.string(), any: fc.jsonValue({ maxDepth: 3 }) }),
);
const messages = fc.array(fc.tuple(fc.constantFrom(...ROLES), letter), { maxLength: 4 });
const attachments = few(fc.uint8Array({ maxLength: 9 }));
const packet = fc
  .tuple(fc.oneof({ weight: 9, arbitrary: messages }, { weight: 1, arbitrary: fc.jsonValue() }), attachments)
  .map(([said, bytes]) =>
    toBinary(
      MeshPacketSchema,
      create(MeshPacketSchema, { messages: Buffer.from(JSON.stringify(said)), attachments: bytes }),
    ),
  );
const bytesOf = (message: object) => toBinary(MeshMessageSchema, create(MeshMessageSchema, message));

export const rightHello = bytesOf({
  hello: { protocolVersion: MESH_PROTOCOL_VERSION, from: OTHER, to: NODE, featureLevel: FEATURE_LEVEL },
});

/** Inputs for an open stream: packets, damaged packets, and arbitrary bytes. */
export const packetInput: fc.Arbitrary<Buffer> = fc.oneof(
  { weight: 6, arbitrary: packet.map((part) => Buffer.from(bytesOf({ part }))) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(packet, fc.array(mutation, { minLength: 1, maxLength: 3 }), fc.boolean(), fc.integer({ min: 0, max: 9 }))
      .map(([part, mutations, isInner, random]) =>
        isInner
          ? Buffer.from(bytesOf({ part: mutated(part, mutations), more: random === 0 }))
          : mutated(bytesOf({ part }), mutations),
      ),
  },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)) },
);

/** Inputs for a new stream. */
export const greetingInput: fc.Arbitrary<Buffer> = fc.oneof(
  fc
    .record({
      ...{ protocolVersion: fc.nat(2), from: id, to: id, nonce: fc.string({ maxLength: 140 }) },
      featureLevel: fc.oneof(fc.constant(FEATURE_LEVEL), fc.nat(9)),
    })
    .map((hello) => Buffer.from(bytesOf({ hello }))),
  fc
    .array(fc.uint8Array({ maxLength: 33 }), { maxLength: 5 })
    .map((proofs) => Buffer.from(bytesOf({ proof: { proofs } }))),
  fc.array(mutation, { minLength: 1, maxLength: 4 }).map((mutations) => mutated(rightHello, mutations)),
  fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes)),
);
