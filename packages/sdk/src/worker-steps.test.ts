import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { Feature, Outcome, StepKind, type WorkerMessage } from "@mainspring/proto";
import { stepsOf, token } from "../test/session-scene.ts";
import { assign, TinyGateway, type TinyStream } from "../test/tiny-gateway.ts";
import type { TaskContext } from "./handlers/context.ts";
import { task } from "./task.ts";
import { Worker } from "./worker.ts";

const stepsIn = (message: WorkerMessage) => message.steps.length > 0;
const result = (message: WorkerMessage) => message.finished.length > 0;

describe("steps of a worker whose session runs in a thread", () => {
  const gateways: TinyGateway[] = [];
  const workers: Worker[] = [];
  afterEach(async () => {
    for (const gateway of gateways.splice(0)) gateway.stop();
    await Promise.allSettled(workers.splice(0).map((worker) => worker.stop({ timeoutMs: 0 })));
  });

  async function start(run: (payload: unknown, ctx: TaskContext) => unknown) {
    const gateway = await TinyGateway.start();
    gateways.push(gateway);
    const worker = new Worker({ url: gateway.address, tasks: [task({ name: "noop", run })], warn: () => undefined });
    workers.push(worker);
    void worker.start();
    return gateway;
  }

  async function welcome(gateway: TinyGateway, features: number = Feature.STEPS): Promise<TinyStream> {
    const stream = await gateway.stream();
    await stream.next((message) => message.hello !== undefined);
    stream.send({ welcome: { heartbeatIntervalMs: 1_000, gateway: "gateway-1", features } });
    return stream;
  }

  it("are recorded, acknowledged and replayed", async () => {
    const gateway = await start(async (_payload, { step, checkpoint }) => {
      const before = checkpoint.last;
      const old = await step.run("old", () => "called anew");
      const fresh = await step.run("new", () => ({ text: "ü" }));
      await checkpoint({ row: 2 });
      return { before, old, fresh, last: checkpoint.last };
    });
    const stream = await welcome(gateway);
    const steps = [
      { name: "old", kind: StepKind.RESULT, data: Buffer.from('"recorded ü"') },
      { kind: StepKind.CHECKPOINT, data: Buffer.from('{"row":1}') },
    ];
    stream.send({ recorded: [{ token: token("e", 2), steps }] });
    stream.send({ assigns: [assign("e", { token: token("e", 2) })] });
    for (const [number, data] of [
      [1, '{"text":"ü"}'],
      [2, '{"row":2}'],
    ] as const) {
      const said = await stream.next(stepsIn);
      assert.deepEqual(stepsOf([said]), [`e:2/${number}`]);
      assert.equal(Buffer.from(said.steps[0]?.data ?? []).toString(), data);
      stream.send({ stepAcks: [{ token: token("e", 2), number }] });
    }
    const [finished] = (await stream.next(result)).finished;
    assert.deepEqual(JSON.parse(Buffer.from(finished?.result ?? []).toString()), {
      before: { row: 1 },
      old: "recorded ü",
      fresh: { text: "ü" },
      last: { row: 2 },
    });
  });

  it("suspend their attempt, with what is left of the waits of earlier attempts", async () => {
    const gateway = await start(async (_payload, { step }) => {
      const signal = await step.waitForSignal<string>("known");
      await step.sleep("over", { days: 1 });
      const day = step.sleep("a day", { days: 1 });
      await Promise.all([day, step.sleep("left", { days: 9 }), step.waitForSignal([signal?.data ?? "", "b"])]);
    });
    const stream = await welcome(gateway);
    const steps = [
      { name: "over", kind: StepKind.WAIT, remainingMs: -1n },
      { name: "left", kind: StepKind.WAIT, remainingMs: 3_600_000n },
      { name: "known", kind: StepKind.SIGNAL, data: Buffer.from('"ü"'), signalId: "s-1" },
    ];
    const assigns = [assign("e", { token: token("e", 2) })];
    stream.send({ recorded: [{ token: token("e", 2), steps }], assigns });
    const [record] = (await stream.next(stepsIn)).steps;
    assert.deepEqual([record?.name, record?.signalId], ["known", "s-1"]);
    stream.send({ stepAcks: [{ token: token("e", 2), number: 1 }] });
    const [finished] = (await stream.next(result)).finished;
    assert.deepEqual(
      [finished?.outcome, finished?.error, finished?.stillRunning],
      [Outcome.SUSPENDED, undefined, false],
    );
    const [day, left, both] = finished?.waits ?? [];
    assert.deepEqual([day?.name, day?.recorded, left?.name, left?.recorded], ["a day", false, "left", true]);
    assert.deepEqual([both?.name, both?.signals], ["ü|b", ["ü", "b"]]);
    // The clock is the platform's, so some milliseconds have passed.
    for (const [wait, ms] of [
      [day, 86_400_000],
      [left, 3_600_000],
      [both, 31_622_400_000],
    ] as const) {
      const delayMs = Number(wait?.delayMs);
      assert.ok(delayMs <= ms && delayMs > ms - 60_000, `${delayMs}`);
    }
  });

  it("come again over the next connection, and fail where that leads to a gateway that is too old", async () => {
    const gateway = await start((_payload, { step }) => step.run("pay", () => 7));
    const first = await welcome(gateway);
    first.send({ assigns: [assign("e")] });
    await first.next(stepsIn);
    first.refuse({ code: 14, details: "away" });
    const second = await welcome(gateway);
    assert.deepEqual(stepsOf([await second.next(stepsIn)]), ["e:1/1"]);
    second.refuse({ code: 14, details: "away" });
    const third = await welcome(gateway, 0);
    const [finished] = (await third.next(result)).finished;
    assert.deepEqual([finished?.outcome, finished?.error?.name], [Outcome.FAILED, "StepsUnsupported"]);
    assert.ok(finished?.error?.message.includes(`the server ${gateway.address} cannot store steps`));
  });
});
