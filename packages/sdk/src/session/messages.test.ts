import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { encodeWorkerMessage, TokenSchema, type WorkerMessage, WorkerMessageSchema } from "@mainspring/proto";
import fc from "fast-check";
import { finished, SILENCE } from "../../test/session-scene.ts";
import { packAssigns, packFinished, unpackAssigns, unpackFinished } from "./columns.ts";
import { finishedMessage, messagesOf, outputMessagesOf } from "./messages.ts";
import { type Assignment, type FinishedReport, OUTCOMES } from "./work.ts";

/** Largest message that the test accepts, in bytes; the gateway accepts twice as much. */
const MESSAGE_MAX_BYTES = 4 * 1024 * 1024;

function sizesOf(messages: readonly WorkerMessage[]): number[] {
  return messages.map((message) => toBinary(WorkerMessageSchema, message).length);
}

function tokenOf(executionId: string) {
  return create(TokenSchema, { executionId, attempt: 1, shard: 7 });
}

describe("messages to the gateway", () => {
  it("carry many small results at once", () => {
    const results = Array.from({ length: 4_001 }, (_, index) => finishedMessage(tokenOf(`${index}`), finished("x")));
    assert.deepEqual(
      [...messagesOf(results)].map((message) => message.finished.length),
      [4_000, 1],
    );
    assert.deepEqual([...messagesOf([])], []);
  });

  it("stay below what a gateway takes, in the same order, with the largest results and errors there are", () => {
    const largest = { result: "x".repeat(1024 * 1024) };
    const error = { name: "ü".repeat(8_192), message: "€".repeat(8_192), stack: "€".repeat(8_192) };
    const signals = Array.from({ length: 100 }, () => "€".repeat(128));
    const waits = Array.from({ length: 27 }, () => ({ name: "€".repeat(256), delayMs: 1, signals, isRecorded: false }));
    const rare = (index: number) => (index % 30 === 0 ? largest : { result: "", waits });
    const worst = Array.from({ length: 300 }, (_, index) => (index % 15 === 0 ? rare(index) : { result: "", error }));
    const results = worst.map((over, index) => finishedMessage(tokenOf(`${index}`), finished("x", over)));
    const messages = [...messagesOf(results)];
    assert.ok(Math.max(...sizesOf(messages)) < MESSAGE_MAX_BYTES);
    assert.ok(messages.length < 60, `${messages.length}`);
    assert.deepEqual(
      messages.flatMap((message) => message.finished.map((item) => item.token?.executionId)),
      results.map((item) => item.token?.executionId),
    );
  });

  it("stay below it too where every handler talks as much as it may", () => {
    const said = Array.from({ length: 1_000 }, (_, index) => ({ executionId: `${index}`, attempt: 1 }));
    const progress = said.map((ref) => ({ ...ref, fraction: 0.5, message: "€".repeat(8_192) }));
    const logs = said.map((ref) => ({ ...ref, atMs: 1, line: "€".repeat(8_192) }));
    const messages = [...outputMessagesOf({ ...SILENCE, progress, logs }, (ref) => tokenOf(ref.executionId))];
    assert.ok(Math.max(...sizesOf(messages)) < MESSAGE_MAX_BYTES);
    assert.equal(messages.flatMap((message) => message.progress).length, 1_000);
    assert.equal(messages.flatMap((message) => message.logs).length, 1_000);
  });
});

const NUMBERS = fc.integer({ min: 0, max: 2 ** 50 });
const REFS = { executionId: fc.string(), attempt: fc.integer({ min: 1, max: 2 ** 32 - 1 }) };
const ASSIGNMENTS: fc.Arbitrary<Assignment> = fc.record({
  ...REFS,
  handler: fc.string(),
  payload: fc.string(),
  timeoutMs: NUMBERS,
  cancelGraceMs: NUMBERS,
  failures: NUMBERS,
  maxAttempts: NUMBERS,
  scheduledAtMs: NUMBERS,
});
const WAITS = fc.array(
  fc.record({ name: fc.string(), delayMs: NUMBERS, signals: fc.array(fc.string()), isRecorded: fc.boolean() }),
);
const REPORT = {
  ...REFS,
  outcome: fc.constantFrom(...OUTCOMES),
  result: fc.string(),
  error: fc.option(fc.record({ name: fc.string(), message: fc.string() })),
  advice: fc.option(fc.oneof(fc.constant({ kind: "NEVER" as const }), fc.constant({ kind: "AT" as const, atMs: 5 }))),
  startedAtMs: NUMBERS,
  finishedAtMs: NUMBERS,
  stillRunning: fc.boolean(),
  waits: WAITS,
};
const WITH_WAITS: fc.Arbitrary<FinishedReport> = fc.record(REPORT, {
  requiredKeys: Object.keys(REPORT).filter((key) => key !== "waits") as Exclude<keyof typeof REPORT, "waits">[],
});
/** Reports of suspended attempts have waits, and reports of successes a branch; none has both. */
const REPORTS: fc.Arbitrary<FinishedReport> = fc
  .tuple(WITH_WAITS, fc.option(fc.string()))
  .map(([report, branch]) => (report.waits === undefined && branch !== null ? { ...report, branch } : report));

describe("a result in the protocol", () => {
  it("has a branch where the handler named one, and no byte more where it did not", () => {
    const named = finishedMessage(tokenOf("a"), finished("a", { branch: "good" }));
    const plain = finishedMessage(tokenOf("a"), finished("a"));
    assert.deepEqual([named.branch, Object.hasOwn(plain, "branch")], ["good", false]);
    const bytesOf = (result: typeof plain) => encodeWorkerMessage(create(WorkerMessageSchema, { finished: [result] }));
    // A tag, a length and the text.
    assert.equal(bytesOf(named).length - bytesOf(plain).length, 6);
    assert.equal(fromBinary(WorkerMessageSchema, bytesOf(named)).finished[0]?.branch, "good");
  });
});

describe("columns", () => {
  it("bring assignments to the other thread as they were", () => {
    fc.assert(
      fc.property(fc.array(ASSIGNMENTS), (assigns) => {
        assert.deepEqual(unpackAssigns(structuredClone(packAssigns(assigns))), assigns.map(plain));
      }),
    );
  });

  it("bring reports to the other thread as they were", () => {
    fc.assert(
      fc.property(fc.array(REPORTS), (reports) => {
        assert.deepEqual(unpackFinished(structuredClone(packFinished(reports))), reports.map(plain));
      }),
    );
  });
});

/** Copies an object with the usual prototype, which objects from fast-check may lack. */
function plain<T extends object>(value: T): T {
  return structuredClone(value);
}
