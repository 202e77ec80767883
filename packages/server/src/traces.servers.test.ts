import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, before, describe, it } from "node:test";
import { Client, type Ref, task, Worker, workflow } from "@mainspring/sdk";
import { startOtelCollector } from "../../../tools/services/start-otel-collector.ts";
import { type OtlpReceiver, startOtlpReceiver } from "../../../tools/services/start-otlp-receiver.ts";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { type ReceivedSpan, spansIn } from "./adapters/otlp/received.fixture.ts";
import { until } from "./adapters/system/until.fixture.ts";
import { DEFAULT_TENANT, SHARD_COUNT, shardKey, shardOf } from "./domain/ids.ts";
import { startLocalNode } from "./node.fixture.ts";
import type { RunningNode } from "./node.ts";
import { Hold } from "./workflow-tasks.fixture.ts";

const apiKey = "the-key-of-the-two-servers";
const PROGRAM = new URL("../../cli/bin/mainspring.mjs", import.meta.url).pathname;
const [TRACE, SUBMITTER] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];
const AT_ONCE = { retryPolicy: { backoff: "FIXED", initialDelayMs: 0, jitter: false } } as const;

describe("traces, with two servers on PostgreSQL and a receiver of OpenTelemetry", () => {
  let postgres: TestPostgres;
  let receiver: OtlpReceiver;
  let node: RunningNode;
  let other: ChildProcess;
  /** Client of the server that is killed. */
  let doomed: Client;
  let client: Client;
  let worker: Worker;
  const holds = new Hold();
  /** Traceparent of each attempt, by its fencing token. */
  const seen = new Map<string, string | null>();
  const failed = new Set<string>();
  const note = task({
    name: "note",
    run: (name: string, ctx) => {
      seen.set(ctx.fence, ctx.traceparent);
      if (name !== "flaky" || failed.has(ctx.executionId)) return name;
      failed.add(ctx.executionId);
      throw new TypeError("not yet");
    },
  });
  const hold = task({
    name: "hold",
    run: (name: string, ctx) => {
      seen.set(ctx.fence, ctx.traceparent);
      return holds.run(name, ctx);
    },
  });
  before(async () => {
    postgres = await startPostgres({ version: 14 });
    receiver = await (process.env["MAINSPRING_OTEL_COLLECTOR"] === "on" ? startOtelCollector() : startOtlpReceiver());
    const cluster = {
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_API_KEY: apiKey },
      ...{ MAINSPRING_EVENTS: "otlp", MAINSPRING_OTLP: receiver.url, MAINSPRING_OTLP_METRICS_SEC: "1" },
    };
    node = await startLocalNode(cluster);
    client = new Client({ url: node.httpUrl, apiKey });
    const free = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "info" };
    other = spawn(process.execPath, [PROGRAM, "serve"], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, ...free, ...cluster },
    });
    doomed = new Client({ url: await httpUrlOf(other), apiKey });
    worker = new Worker({ url: node.grpcAddress, apiKey, slots: 10, tasks: [note, hold], warn: () => undefined });
    await worker.start();
    await until(async () => (await shares()).every((count) => count === SHARD_COUNT / 2));
    // The server chooses a shard of its own for a job once it knows that it owns the shard.
    await until(async () => {
      const { jobId } = await doomed.submit({ target: { handler: "note" }, payload: "probe" });
      return (await ownerOf(jobId)) === "OTHER";
    });
  });
  after(async () => {
    if (other?.exitCode === null) other.kill("SIGKILL");
    await worker?.stop();
    await node?.stop();
    await receiver?.stop();
    await postgres?.stop();
  });
  /** Numbers of shards of the owners. */
  const shares = async () => {
    const owned = Map.groupBy((await client.cluster.status()).shards, ({ nodeId }) => nodeId);
    return [...owned.values()].map(({ length }) => length);
  };
  /** Which of the two servers owns a job's shard. */
  const ownerOf = async (jobId: string): Promise<"THIS" | "OTHER"> => {
    const { shards, nodes } = await client.cluster.status();
    const owner = shards.find(({ shard }) => shard === shardOf(shardKey(DEFAULT_TENANT, null, jobId)));
    const survivor = nodes.find(({ address }) => address === node.grpcAddress);
    assert.ok(owner !== undefined && survivor !== undefined);
    return owner.nodeId === survivor.nodeId ? "THIS" : "OTHER";
  };
  const spansOf = async (traceId: string): Promise<ReceivedSpan[]> =>
    spansIn(await receiver.traces()).filter((span) => span.traceId === traceId);
  /** Spans of a trace once it has all of these names. Repeats of a span are left out, after a look at their ids. */
  const whole = async (traceId: string, names: readonly string[]): Promise<ReceivedSpan[]> => {
    let spans = new Map<string, ReceivedSpan>();
    const isWhole = () =>
      [...spans.values()]
        .map(({ name }) => name)
        .sort()
        .join() === [...names].sort().join();
    await until(async () => {
      spans = new Map();
      for (const span of await spansOf(traceId)) {
        const known = spans.get(span.spanId);
        assert.deepEqual(span, known ?? span, "a repeat is the same span");
        spans.set(span.spanId, span);
      }
      return isWhole();
    });
    return [...spans.values()];
  };

  it("go from the submitter through the nodes of a workflow to the handlers, over a retry and a killed server", async () => {
    const inner = workflow("inner", {}, (w, input: Ref<string>) => ({ deep: w.node("deep", note, input) }));
    const outer = workflow("outer", {}, (w) => {
      const flaky = w.node("flaky", note, "flaky", AT_ONCE);
      const held = w.node("held", hold, "held", { after: [flaky] });
      return { held, inner: w.node("inner", inner, "deep", { after: [held] }) };
    });
    const begun = holds.begins("held");
    const handle = await outer.submit(doomed, undefined, { traceparent: `00-${TRACE}-${SUBMITTER}-01` });
    await begun;
    const { jobId } = await client.workflows.get(handle.workflowId);
    assert.equal(await ownerOf(String(jobId)), "OTHER", "the run belongs to the server that is killed");
    const gone = once(other, "exit");
    other.kill("SIGKILL");
    await gone;
    holds.goOn("held");
    assert.equal((await client.workflows.waitFor(handle.workflowId)).state, "SUCCEEDED");

    const executions = ["workflow", "note", "hold", "$workflow", "note"].map((handler) => `execution ${handler}`);
    const attempts = ["note", "note", "hold", "note"].map((handler) => `run ${handler}`);
    const spans = await whole(TRACE, [...executions, ...attempts]);
    const executionOf = (id: string) => spans.find((span) => span.id === id && span.attempt === null);
    const attemptOf = (id: string, attempt: number) => spans.find((one) => one.id === id && one.attempt === attempt);
    const idsOf = async (run: string) => {
      const ids = new Map<string, string>();
      for await (const one of client.workflows.nodes(run)) ids.set(one.name, String(one.executionId));
      return (name: string) => ids.get(name) ?? assert.fail(`there is no node ${name}`);
    };
    const root = executionOf(handle.workflowId);
    assert.ok(root !== undefined);
    assert.deepEqual([root.parentSpanId, root.error], [SUBMITTER, null]);
    const ofOuter = await idsOf(handle.workflowId);
    for (const name of ["flaky", "held", "inner"]) {
      assert.equal(executionOf(ofOuter(name))?.parentSpanId, root.spanId, name);
    }
    const deep = executionOf((await idsOf(ofOuter("inner")))("deep"));
    assert.equal(deep?.parentSpanId, executionOf(ofOuter("inner"))?.spanId);
    for (const [id, numbers] of [
      [ofOuter("flaky"), [1, 2]],
      [ofOuter("held"), [1]],
      [deep?.id ?? "", [1]],
    ] as const) {
      for (const attempt of numbers) {
        const span = attemptOf(id, attempt);
        assert.equal(span?.parentSpanId, executionOf(id)?.spanId, `attempt ${attempt} of ${id}`);
        assert.equal(
          seen.get(`${id}:${attempt}`),
          `00-${TRACE}-${span?.spanId}-01`,
          "the handler is within its attempt",
        );
        assert.ok(span !== undefined && span.from <= span.to);
      }
    }
    assert.deepEqual(
      [attemptOf(ofOuter("flaky"), 1)?.error, attemptOf(ofOuter("flaky"), 2)?.error],
      ["TypeError", null],
    );
  });

  it("begin with the execution where the submitter has none, and have no spans where the submitter's is not recorded", async () => {
    const unrecorded = TRACE.replace("4", "5");
    const quiet = await note.submit(client, "quiet", { traceparent: `00-${unrecorded}-${SUBMITTER}-00` });
    await quiet.result();
    assert.match(String(seen.get(`${quiet.executionId}:1`)), new RegExp(`^00-${unrecorded}-[0-9a-f]{16}-00$`));
    const loud = await note.submit(client, "loud");
    await loud.result();
    const traceId = loud.executionId.replaceAll("-", "");
    const spans = await whole(traceId, ["execution note", "run note"]);
    const [root, attempt] = spans.sort((a, b) => a.name.localeCompare(b.name));
    assert.deepEqual([root?.parentSpanId, attempt?.parentSpanId], ["", root?.spanId]);
    assert.equal(seen.get(`${loud.executionId}:1`), `00-${traceId}-${attempt?.spanId}-01`);
    assert.deepEqual(await spansOf(unrecorded), []);
  });

  it("come with the metrics of each server", async () => {
    const text = async () => JSON.stringify(await receiver.metrics());
    await until(async () => /"mainspring_executions_finished_total".*"SUCCEEDED"/.test(await text()));
    assert.match(await text(), /"mainspring_events_delivered_total".*"stringValue":"otlp"/);
    const shown = await (
      await fetch(`${node.httpUrl}/metrics`, { headers: { authorization: `Bearer ${apiKey}` } })
    ).text();
    assert.match(shown, /mainspring_events_delivered_total\{sink="otlp"\} \d+/);
  });
});

/** URL that a server logs when it listens. */
async function httpUrlOf({ stdout }: ChildProcess): Promise<string> {
  assert.ok(stdout !== null);
  let text = "";
  for await (const part of stdout.setEncoding("utf8")) {
    text += part;
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(text) ?? [];
    if (url === undefined) continue;
    stdout.resume();
    return url;
  }
  throw new Error("the server ended before it listened");
}
