import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromBinary } from "@bufbuild/protobuf";
import { RecordedStepsSchema, StepKind } from "@mainspring/proto";
import { waitData } from "../../domain/step.ts";
import { encodeTemplate } from "../../ports/references/template.ts";
import { Payloads } from "./payloads.ts";

const noReferences = { resolve: async () => Promise.reject(new Error("no payload has references")) };
/** Assignments of jobs, which leave at this time. */
const about = (sentAt = 0) => ({ sentAt: () => sentAt, nodeOf: () => null });

/** A store that has every payload, and records the reads. */
function scene() {
  const read: string[] = [];
  const payloads = new Payloads(
    {
      payloads: async (ids) => {
        read.push(...ids);
        return new Map(ids.map((id) => [id, Buffer.from(`stored ${id}`)]));
      },
      steps: {
        addSignal: async () => ({ kind: "UNKNOWN" }),
        readSignals: async () => new Map(),
        read: async (ids) => {
          read.push(...ids.map((id) => `steps of ${id}`));
          const data = Buffer.from('"kept"');
          return new Map(
            ids.map((id) => [id, [{ name: "charge", kind: "RESULT", attempt: 1, number: 1, at: 5, data }]]),
          );
        },
      },
    },
    noReferences,
  );
  const keep = (id: string, payload: Uint8Array = Buffer.from(id), dueAt = 0) =>
    payloads.keep([{ row: { id, dueAt, attempt: 0 }, payload }], 1_000);
  const get = async (executionId: string, attempt = 1) => {
    const assign = { executionId, attempt, payloadBytes: 1, payload: null as Uint8Array | null };
    await payloads.attach([assign], about());
    return Buffer.from(assign.payload ?? []).toString();
  };
  return { payloads, keep, get, read };
}

describe("payloads on their way to workers", () => {
  it("come with the records of earlier attempts, where there are any", async () => {
    const { payloads, read } = scene();
    const stepping = { executionId: "a", attempt: 2, payloadBytes: 0, payload: null, steps: null as Uint8Array | null };
    const plain = { executionId: "b", attempt: 2, payloadBytes: 0, payload: null };
    await payloads.attach([stepping, plain], about());
    assert.deepEqual(read, ["steps of a"]);
    const { steps } = fromBinary(RecordedStepsSchema, stepping.steps ?? new Uint8Array(0));
    const [step] = steps;
    assert.deepEqual(
      [step?.name, step?.kind, Buffer.from(step?.data ?? []).toString()],
      ["charge", StepKind.RESULT, '"kept"'],
    );
    assert.equal("steps" in plain, false);
    assert.equal(payloads.attach([stepping], about()), null, "the records are there");
  });

  it("come with the waits and the signals of an execution, whose time counts from the assignment", async () => {
    const wait = { name: "approval", kind: "WAIT" as const, attempt: 1, number: 0, at: 5 };
    const signal = { id: "order-7", name: "approved", data: Buffer.from("[1]"), at: 6 };
    const payloads = new Payloads(
      {
        payloads: async () => new Map(),
        steps: {
          addSignal: async () => ({ kind: "UNKNOWN" }),
          readSignals: async () => new Map([["a", [signal, { ...signal, id: "order-8", data: null }]]]),
          read: async () => new Map([["a", [{ ...wait, data: waitData({ until: 1_500, signals: ["approved"] }) }]]]),
        },
      },
      noReferences,
    );
    const assign = { executionId: "a", attempt: 2, payloadBytes: 0, payload: null, steps: null as Uint8Array | null };
    await payloads.attach([assign], about(2_000.75));
    const { steps } = fromBinary(RecordedStepsSchema, assign.steps ?? new Uint8Array(0));
    assert.deepEqual(
      steps.map(({ name, kind, remainingMs, signalId, data }) => [
        name,
        kind,
        Number(remainingMs),
        signalId,
        `${Buffer.from(data)}`,
      ]),
      [
        ["approval", StepKind.WAIT, -500, "", ""],
        ["approved", StepKind.SIGNAL, 0, "order-7", "[1]"],
        ["approved", StepKind.SIGNAL, 0, "order-8", ""],
      ],
    );
  });

  it("are at hand for the first attempt after their hint, and read for those after it", async () => {
    const { keep, get, read } = scene();
    keep("a");
    assert.equal(await get("a"), "a");
    assert.deepEqual(read, []);
    assert.equal(await get("a", 2), "stored a");
  });

  it("are read where the job was changed before its first attempt, or the hint tells of a later one", async () => {
    const { payloads, keep, get } = scene();
    keep("a");
    assert.equal(await get("a", 2), "stored a");
    payloads.keep([{ row: { id: "b", dueAt: 0, attempt: 1 }, payload: Buffer.from("b") }], 1_000);
    assert.equal(await get("b", 2), "stored b");
  });

  it("stay in the store where they are for later", async () => {
    const { keep, get } = scene();
    keep("a", Buffer.from("a"), 1_001);
    assert.equal(await get("a"), "stored a");
  });

  it("are forgotten, the oldest first, when a hundred thousand came after them", async () => {
    const { keep, get, read } = scene();
    for (let n = 0; n < 150_000; n++) keep(`${n}`);
    assert.equal(await get("0"), "stored 0");
    assert.equal(await get("149999"), "149999");
    assert.equal(await get("50000"), "50000");
    assert.deepEqual(read, ["0"]);
  });

  it("are forgotten when so many bytes came after them, whoever is never asked for", async () => {
    const { keep, get, read } = scene();
    const mebibyte = Buffer.alloc(1024 * 1024, "x");
    for (let n = 0; n < 80; n++) keep(`${n}`, mebibyte);
    keep("last");
    assert.equal(await get("last"), "last");
    assert.equal(await get("0"), "stored 0");
    assert.deepEqual(read, ["0"]);
  });

  it("have the values of references, whether they came with a hint or were read", async () => {
    const text = Buffer.from('{"$from":"a"}');
    const template = encodeTemplate({
      text,
      edits: [{ at: { start: 0, end: text.length }, depth: 0, from: 0, path: [] }],
    });
    const filled: string[] = [];
    const error = { name: "ReferenceNotFound", message: "nothing there" };
    const payloads = new Payloads(
      { payloads: async (ids) => new Map(ids.map((id) => [id, template])), steps: {} as never },
      {
        resolve: async (wanted) =>
          wanted.map(({ run, stored }) => {
            filled.push(run);
            assert.deepEqual(stored, template);
            return run === "bad run" ? { reason: "REFERENCE_NOT_FOUND", error } : Buffer.from(`result of ${run}`);
          }),
      },
    );
    payloads.keep([{ row: { id: "hinted", dueAt: 0, attempt: 0 }, payload: template }], 1_000);
    const assigns = ["hinted", "read", "bad"].map((executionId) => {
      return { executionId, attempt: 1, payloadBytes: 9, payload: null as Uint8Array | null };
    });
    const ofRuns = {
      sentAt: () => 0,
      nodeOf: ({ executionId }: { executionId: string }) => ({ run: `${executionId} run`, item: null }),
    };
    const held = await payloads.attach(assigns, ofRuns);
    assert.deepEqual(filled, ["hinted run", "read run", "bad run"]);
    const sent = assigns.slice(0, 2).map(({ payload }) => Buffer.from(payload ?? []).toString());
    assert.deepEqual(sent, ["result of hinted run", "result of read run"]);
    assert.deepEqual(held, [{ assign: assigns[2], reason: "REFERENCE_NOT_FOUND", error }]);
    assert.equal(payloads.attach(assigns.slice(0, 2), ofRuns), null, "they are filled in");
  });
});
