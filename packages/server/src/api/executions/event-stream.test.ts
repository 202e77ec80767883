import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { ManualRuntime, settled } from "../../ports/manual-runtime.fixture.ts";
import { EventStream } from "./event-stream.ts";

/** An answer whose client reads when the test says so. */
class Answer extends Writable {
  #read = () => {};

  constructor() {
    super({ highWaterMark: 100 });
  }

  writeHead(): void {}

  override _write(_chunk: Buffer, _encoding: string, done: () => void): void {
    this.#read = done;
  }

  reads(): void {
    this.#read();
  }
}

describe("a stream of events to a client that reads slowly", () => {
  const open = () => {
    const [answer, runtime] = [new Answer(), new ManualRuntime()];
    const stream = new EventStream(answer as unknown as ServerResponse, runtime);
    let isDrained = false;
    const send = () => {
      for (let event = 0; event < 10; event++) stream.send("node", `${event}`, "x".repeat(20));
      void stream.drained().then(() => {
        isDrained = true;
      });
    };
    return { answer, runtime, stream, send, isDrained: () => isDrained };
  };

  it("lets its sender wait until the client has read", async () => {
    const { answer, stream, send, isDrained } = open();
    await stream.drained();
    send();
    await settled();
    assert.equal(isDrained(), false);
    while (answer.writableLength > 0) {
      answer.reads();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual([isDrained(), stream.isOpen], [true, true]);
  });

  it("keeps no listener of a wait that is over", async () => {
    const { answer, send } = open();
    const before = answer.listenerCount("close");
    for (let wait = 0; wait < 3; wait++) {
      send();
      while (answer.writableLength > 0) {
        answer.reads();
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    assert.deepEqual([answer.listenerCount("close"), answer.listenerCount("drain")], [before, 0]);
  });

  it("is cut off when the client reads nothing, and its sender goes on", async () => {
    const { runtime, stream, send, isDrained } = open();
    send();
    await runtime.advance(14_999);
    assert.deepEqual([isDrained(), stream.isOpen], [false, true]);
    await runtime.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([isDrained(), stream.isOpen], [true, false]);
    await stream.drained();
  });
});

describe("silent streams", () => {
  it("get their comments at the same time if they began within 50 ms of each other", async () => {
    const runtime = new ManualRuntime();
    const beginMs = runtime.monotonicMs();
    const commentsAtMs: number[] = [];
    const open = () => {
      const answer = new Answer();
      const comment = () => {
        commentsAtMs.push(runtime.monotonicMs() - beginMs);
        return ":\n\n";
      };
      new EventStream(answer as unknown as ServerResponse, runtime, comment);
    };
    await runtime.advance(1);
    open();
    await runtime.advance(48);
    open();
    await runtime.advance(50_000);
    assert.deepEqual(commentsAtMs, [25_000, 25_000, 50_000, 50_000]);
  });
});
