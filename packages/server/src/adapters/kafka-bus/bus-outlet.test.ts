import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ManualRuntime } from "../../gateway/gateway.fixture.ts";
import { createLog } from "../../ops/logging.ts";
import type { FinishedAttempt } from "../../ports/messages.ts";
import { Turns } from "../../ports/turns.ts";
import type { Letter } from "../mesh/packet.ts";
import type { BusReading } from "../mesh/schemas/to-bus.ts";
import { busKeys } from "./bus-envelope.ts";
import { BusOutlet } from "./bus-outlet.ts";
import type { BusRecord } from "./bus-writer.ts";
import { Readings } from "./readings.ts";

const KEYS = busKeys(["secret"], []);
const TOPICS = ["ms.job-results"];
const OPEN: BusReading = {
  ...{ kind: "READING", cluster: "c", signedWith: "SECRET", isOpen: true },
  routes: [{ topic: "ms.job-results", partition: 3 }],
};

/** An outlet, and a Kafka whose answers the test gives. */
class Scene {
  readonly runtime = new ManualRuntime();
  readonly readings = new Readings(KEYS.signedWith);
  /** Sends that wait for their answer. */
  readonly sends: { records: readonly BusRecord[]; answer: (error?: Error) => void }[] = [];
  readonly mesh: string[] = [];
  readonly states: (string | null)[] = [];
  readonly outlet: BusOutlet;
  isDown = false;

  constructor(isStrict: boolean) {
    const { runtime, readings } = this;
    this.outlet = new BusOutlet({
      ...{
        node: "a",
        topics: TOPICS,
        keys: KEYS,
        readings,
        isStrict,
        turns: new Turns(runtime),
        runtime,
        log: createLog("silent"),
      },
      open: async () => ({
        connect: async () => {
          if (this.isDown) throw new Error("down");
          return "c";
        },
        create: async () => undefined,
        send: (records) =>
          new Promise((resolve, reject) => {
            this.sends.push({ records, answer: (error) => (error === undefined ? resolve() : reject(error)) });
          }),
        close: () => undefined,
      }),
      overMesh: (_, letter) => this.mesh.push(idOf(letter)),
      changed: (reason) => this.states.push(reason),
    });
  }

  put(id: string, result: Uint8Array | null = null): void {
    const message = { kind: "FINISHED" as const, results: [{ executionId: id, result } as FinishedAttempt] };
    this.outlet.put("b", { topics: TOPICS, letter: { role: "scheduler", message } });
  }

  /** Node b announces what it reads. */
  hear(reading: BusReading = OPEN): void {
    this.readings.hear("b", reading, this.runtime.monotonicMs());
    this.outlet.flush();
  }

  /** Passes seconds in which node b announces that it cannot read. */
  async wait(seconds: number): Promise<void> {
    for (let n = 0; n < seconds; n++) {
      this.hear({ ...OPEN, isOpen: false });
      await this.settle(1_000);
    }
  }

  async settle(ms = 0): Promise<void> {
    this.runtime.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const idOf = ({ message }: Letter) => (message.kind === "FINISHED" ? (message.results[0]?.executionId ?? "") : "");

describe("what a node writes to Kafka", () => {
  const opened = async (isStrict = false) => {
    const scene = new Scene(isStrict);
    await scene.outlet.open();
    scene.hear();
    return scene;
  };

  it("has one send under way, and the messages of that time in the next one", async () => {
    const scene = await opened();
    scene.put("e1");
    scene.put("e2");
    await scene.settle();
    scene.put("e3");
    await scene.settle();
    assert.equal(scene.sends.length, 1);
    const [first] = scene.sends;
    assert.deepEqual(
      first?.records.map(({ topic, partition, key }) => [topic, partition, key]),
      [["ms.job-results", 3, "b"]],
    );
    first?.answer();
    await scene.settle();
    assert.equal(scene.sends.length, 2);
    scene.sends[1]?.answer();
    await scene.settle();
    assert.deepEqual(scene.outlet.counts, { kafka: 3, mesh: 0, dropped: 0 });
  });

  it("goes over Kafka once Kafka answers, if it was down at first", async () => {
    const scene = new Scene(false);
    scene.isDown = true;
    await assert.rejects(scene.outlet.open(), /down/);
    assert.deepEqual([scene.outlet.isOpen, scene.states], [false, ["down"]]);
    scene.isDown = false;
    await scene.settle(250);
    assert.deepEqual([scene.outlet.isOpen, scene.states], [true, ["down", null]]);
    scene.outlet.close();
  });

  it("goes over the mesh to nodes that announce nothing, or something else, and as soon as a send fails", async () => {
    const scene = await opened();
    scene.hear({ ...OPEN, cluster: "another" });
    scene.put("other cluster");
    await scene.settle();
    scene.hear({ ...OPEN, isOpen: false });
    scene.put("cannot read");
    await scene.settle();
    scene.hear();
    scene.put("in flight");
    await scene.settle();
    scene.put("behind it");
    scene.sends[0]?.answer(new Error("gone"));
    await scene.settle();
    scene.put("down");
    assert.deepEqual(scene.mesh, ["other cluster", "cannot read", "in flight", "behind it", "down"]);
    assert.deepEqual(scene.states, [null, "gone"]);
    await scene.settle(250);
    assert.deepEqual(scene.states, [null, "gone", null]);
    await scene.settle(4_000);
    scene.put("silent");
    await scene.settle();
    assert.equal(scene.mesh.at(-1), "silent");
  });

  it("waits for Kafka where it must not use the mesh, for 30 seconds", async () => {
    const scene = await opened(true);
    scene.put("e1");
    await scene.settle();
    scene.isDown = true;
    scene.sends[0]?.answer(new Error("gone"));
    await scene.settle();
    scene.put("e2");
    await scene.wait(20);
    scene.put("e3");
    await scene.wait(15);
    assert.deepEqual(scene.outlet.counts, { kafka: 0, mesh: 0, dropped: 2 });
    scene.isDown = false;
    await scene.wait(2);
    scene.hear();
    await scene.settle();
    scene.sends[1]?.answer();
    await scene.settle();
    assert.deepEqual([scene.outlet.counts, scene.mesh], [{ kafka: 1, mesh: 0, dropped: 2 }, []]);
  });

  it("keeps 20,000 messages and 32 MiB", async () => {
    const scene = await opened(true);
    scene.hear({ ...OPEN, isOpen: false });
    for (let n = 0; n < 20_005; n++) scene.put(`e${n}`);
    assert.equal(scene.outlet.counts.dropped, 5);
    for (let n = 0; n < 33; n++) scene.put(`large${n}`, new Uint8Array(1024 * 1024));
    assert.equal(scene.outlet.counts.dropped, 20_006);
  });

  it("sends large messages over the mesh", async () => {
    const scene = await opened();
    scene.put("large", new Uint8Array(600 * 1024));
    await scene.settle();
    assert.deepEqual([scene.mesh, scene.sends.length], [["large"], 0]);
  });
});
