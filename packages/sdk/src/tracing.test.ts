import assert from "node:assert/strict";
import { after, afterEach, before, describe, it } from "node:test";
import { context, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { assignment, ExecutorScene } from "../test/executor-scene.ts";
import { TinyApi } from "../test/tiny-api.ts";
import { Client } from "./client/client.ts";
import { task } from "./task.ts";
import { activeTraceparent, withinTrace } from "./tracing.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparentOf = (span: string, flags = "01") => `00-${TRACE}-${span}-${flags}`;
const [FIRST, SECOND] = [traceparentOf("00000000000000a1"), traceparentOf("00000000000000a2")];
const submitted = (n: number) => ({ jobId: `j${n}`, state: "ACTIVE", executionId: `e${n}` });

before(() => {
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
after(() => context.disable());

describe("the context of a trace", () => {
  it("is that of the given span while a function runs, and after its waits", async () => {
    assert.equal(activeTraceparent(), undefined);
    const seen = await withinTrace(FIRST, async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return [activeTraceparent(), trace.getSpanContext(context.active())?.isRemote];
    });
    assert.deepEqual(seen, [FIRST, true]);
    assert.equal(activeTraceparent(), undefined);
  });

  it("keeps the flag of a trace that is not recorded", () => {
    const unsampled = traceparentOf("00000000000000a3", "00");
    assert.equal(withinTrace(unsampled, activeTraceparent), unsampled);
  });

  it("is the present one without a traceparent, and with one that is not valid", () => {
    const within = (text: string | null) => withinTrace(FIRST, () => withinTrace(text, activeTraceparent));
    assert.deepEqual([within(null), within("00-x-y-01")], [FIRST, FIRST]);
  });
});

describe("a handler", () => {
  it("runs in the context of its attempt, within its middleware too, and can read it", async () => {
    const seen: unknown[] = [];
    const look = task({
      name: "look",
      run: async (_: unknown, ctx) => {
        await Promise.resolve();
        seen.push(ctx.executionId, ctx.traceparent, activeTraceparent());
      },
    });
    const around = [(_: unknown, next: () => Promise<unknown>) => (seen.push(activeTraceparent()), next())];
    const scene = new ExecutorScene(1, [look], {}, around);
    scene.apply({ assigns: [assignment("traced", { handler: "look", traceparent: FIRST })] });
    await scene.finished();
    scene.apply({ assigns: [assignment("plain", { handler: "look" })] });
    assert.deepEqual(await scene.outcomes(), ["traced SUCCEEDED", "plain SUCCEEDED"]);
    assert.deepEqual(seen, [FIRST, "traced", FIRST, FIRST, undefined, "plain", null, undefined]);
  });
});

describe("submits", () => {
  let api: TinyApi;
  let client: Client;
  const headers = () => api.seen.map(({ path, headers: sent }) => [path, sent.traceparent]);
  before(async () => {
    api = await TinyApi.start();
    client = new Client({ url: api.url, apiKey: "" });
  });
  afterEach(() => {
    api.seen.splice(0);
    api.forget();
  });
  after(() => api.stop());

  it("of one turn share a request where they share a trace", async () => {
    api.will({ status: 200, body: { items: [submitted(1), submitted(3)] } }, { status: 201, body: submitted(2) });
    const job = { target: { handler: "echo" } };
    await Promise.all([
      withinTrace(FIRST, () => client.submit(job)),
      client.submit(job, { traceparent: SECOND }),
      withinTrace(FIRST, () => client.submit(job)),
    ]);
    assert.deepEqual(headers().sort(), [
      ["/v1/jobs", SECOND],
      ["/v1/jobs/batch", FIRST],
    ]);
  });

  it("of batches, workflows and tasks are in the trace of their caller, and others in none", async () => {
    const echo = task({ name: "echo", run: (payload: unknown) => payload });
    api.will(
      { status: 200, body: { items: [submitted(1)] } },
      ...[2, 3, 4].map((n) => ({ status: 201, body: submitted(n) })),
    );
    await withinTrace(FIRST, async () => {
      await client.submitBatch([{ target: { handler: "echo" } }]);
      await client.workflows.submit({ nodes: [{ name: "a", target: { handler: "echo" } }] });
      await echo.submit(client, 1, { traceparent: SECOND });
    });
    await echo.submit(client, 1);
    assert.deepEqual(headers(), [
      ["/v1/jobs/batch", FIRST],
      ["/v1/workflows", FIRST],
      ["/v1/jobs", SECOND],
      ["/v1/jobs", undefined],
    ]);
  });

  it("refuse a traceparent that is no value of a header", async () => {
    await assert.rejects(
      client.submit({ target: { handler: "echo" } }, { traceparent: "a\nb" }),
      /traceparent: must be/,
    );
  });
});
