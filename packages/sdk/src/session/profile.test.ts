import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { task } from "../task.ts";
import { Worker } from "../worker.ts";
import { targetsOf } from "./grpc-target.ts";
import { checkedProfile, type WorkerProfile } from "./profile.ts";

const GOOD: WorkerProfile = {
  workerId: "w",
  name: "w",
  pool: "default",
  handlers: ["a", "b"],
  capabilities: ["gpu"],
  slots: 20,
  prefetch: 0,
};

describe("what a worker says of itself", () => {
  it("is taken at its bounds", () => {
    const bounds = [
      { slots: 1 },
      { slots: 10_000 },
      { prefetch: 100_000 },
      { prefetch: "auto" } as const,
      { name: "x".repeat(128) },
    ];
    for (const over of bounds) assert.deepEqual(checkedProfile({ ...GOOD, ...over }), { ...GOOD, ...over });
  });

  it("is refused beyond them, with what would be right", () => {
    const wrong: [Partial<WorkerProfile>, RegExp][] = [
      [{ slots: 0 }, /slots: must be a whole number from 1 to 10000, not 0/],
      [{ slots: 10_001 }, /slots/],
      [{ slots: 1.5 }, /slots/],
      [{ prefetch: -1 }, /prefetch: must be "auto" or a whole number from 0 to 100000, not -1/],
      [{ name: "" }, /name: 1 to 128 characters/],
      [{ name: "x".repeat(129) }, /it has 129/],
      [{ pool: "" }, /pool/],
      [{ handlers: [] }, /at least one task/],
      [{ handlers: ["a", "b", "a"] }, /two of them are named "a"/],
      [{ handlers: [""] }, /must not be empty/],
      [{ capabilities: [""] }, /must not be empty/],
    ];
    for (const [over, message] of wrong) {
      assert.throws(() => checkedProfile({ ...GOOD, ...over }), { code: "BAD_OPTION", message });
    }
  });
});

describe("the address of a gateway", () => {
  it("is host and port, with TLS where https asks for it", () => {
    assert.deepEqual(targetsOf("127.0.0.1:8081"), [{ address: "127.0.0.1:8081", isTls: false }]);
    assert.deepEqual(targetsOf("http://gateway:8081/"), [{ address: "gateway:8081", isTls: false }]);
    const two = [
      { address: "a:1", isTls: false },
      { address: "b:2", isTls: false },
    ];
    assert.deepEqual([targetsOf("a:1, b:2"), targetsOf(["a:1", "b:2"])], [two, two]);
    assert.deepEqual(targetsOf("https://[::1]:443"), [{ address: "[::1]:443", isTls: true }]);
  });

  it("is refused otherwise, with an example", () => {
    for (const url of ["", "gateway", "http://gateway", "grpc://gateway:1", "gateway:http", "http://gateway:1/path"]) {
      assert.throws(() => targetsOf(url), { code: "BAD_OPTION", message: /as 127\.0\.0\.1:8081 is/ });
    }
  });

  it("does not come with a key that no header can hold, and does not show it", () => {
    const noop = task({ name: "noop", run: () => undefined });
    const make = () => new Worker({ tasks: [noop], apiKey: "secret\nkey" });
    assert.throws(make, (error: Error) => /apiKey/.test(error.message) && !/secret/.test(error.message));
  });
});
