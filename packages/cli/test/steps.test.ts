import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Execution, type ExecutionSteps, type Explanation, type SentSignal, task, Worker } from "@mainspring/sdk";
import { Commands } from "./testing/command.ts";
import { startServer, type TestServer } from "./testing/server.ts";

const order = task({
  name: "order",
  run: async (_: null, { step, checkpoint }) => {
    await checkpoint({ row: 7 });
    const number = await step.run("number", () => 4_711);
    const decision = await step.waitForSignal<{ by: string }>(["approved", "rejected"]);
    return `${number} ${decision?.name} by ${decision?.data.by}`;
  },
});

describe("durable steps by the command line", () => {
  let server: TestServer;
  let worker: Worker;
  before(async () => {
    server = await startServer();
    worker = new Worker({ url: server.grpcAddress, tasks: [order] });
    await worker.start();
  });
  after(async () => {
    await worker.stop();
    await server.stop();
  });

  const { run, done, json } = new Commands(() => server.clientEnv);

  /** Reads what the predicate accepts; each read is an answer of the server, so this waits for the server. */
  async function until<T>(read: () => Promise<T>, isThere: (value: T) => boolean): Promise<T> {
    for (;;) {
      const value = await read();
      if (isThere(value)) return value;
    }
  }

  it("are shown while their execution waits, until a signal comes", async () => {
    const { executionId } = await json<Execution>("submit", "order");
    const steps = () => json<ExecutionSteps>("executions", "steps", executionId);
    const { waits } = await until(steps, ({ waits }) => waits.length > 0);
    assert.deepEqual(
      waits.map(({ name, signals }) => [name, signals]),
      [["approved|rejected", ["approved", "rejected"]]],
    );
    const text = await done("executions", "steps", executionId);
    assert.match(text, /^KIND +NAME +ATTEMPT +SINCE +VALUE$/m);
    assert.match(text, /^STEP +number +1 +\S+Z +4711$/m);
    assert.match(text, /^CHECKPOINT +- +1 +\S+Z +\{"row":7\}$/m);
    assert.match(text, /^WAIT +approved\|rejected +1 +\S+Z +for approved, rejected, until \S+Z$/m);
    const { reasons } = await json<Explanation>("executions", "explain", executionId);
    assert.deepEqual([reasons[0]?.reason, reasons[0]?.signals], ["AWAITS_SIGNAL", ["approved", "rejected"]]);
    assert.match(await done("executions", "explain", executionId), /AWAITS_SIGNAL +its handler waits for a signal/);

    assert.match(await done("executions", "signal", executionId, "other", "--id", "o-1"), /^accepted: signal o-1\n$/);
    const open = await until(steps, ({ signals }) => signals.length > 0);
    assert.deepEqual(
      open.signals.map(({ signalId, name, data }) => [signalId, name, data]),
      [["o-1", "other", null]],
    );
    const data = JSON.stringify({ by: "Ada" });
    const args = ["executions", "signal", executionId, "approved", "--data", data, "--id", "a-1"];
    const sent = await json<SentSignal>(...args);
    assert.deepEqual([sent.signalId, sent.name, sent.isRepeated], ["a-1", "approved", false]);
    assert.equal((await json<Execution>("executions", "get", executionId, "--wait")).result, "4711 approved by Ada");
    const { attempts } = await json<Execution>("executions", "get", executionId);
    assert.ok(attempts.some(({ state }) => state === "SUSPENDED"));

    const late = await run(["executions", "signal", executionId, "approved"]);
    assert.equal(late.code, 1);
    assert.match(late.stderr, /^mainspring: .*(final|SUCCEEDED)/);
    const wrong = await run(["executions", "signal", executionId, "approved", "--data", "{nope"]);
    assert.match(wrong.stderr, /^mainspring: --data is not JSON: /);
  });

  it("are said to be none", async () => {
    const { executionId } = await json<Execution>("submit", "nobody-offers-this");
    assert.equal(await done("executions", "steps", executionId), "no steps, no checkpoint and no signals\n");
  });
});
