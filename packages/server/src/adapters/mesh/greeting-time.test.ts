import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { status } from "@grpc/grpc-js";
import { systemRuntime } from "../system/system-runtime.ts";
import { GREETING_WITHIN_MS } from "./limits.ts";
import { Cluster, KEY } from "./mesh.fixture.ts";
import { RawStream } from "./raw-stream.fixture.ts";

const SECRET = "a-secret-of-the-cluster";

describe("the time of a greeting", () => {
  const cluster = new Cluster();
  const streams: RawStream[] = [];
  afterEach(() => {
    for (const stream of streams.splice(0)) stream.close();
    return cluster.close();
  });

  /** A node with or without a secret, whose greetings end when the test says so. */
  const scene = async (...secrets: string[]) => {
    const open = new Set<() => void>();
    const system = systemRuntime();
    const setTimer: typeof system.setTimer = (delayMs, run) => {
      if (delayMs !== GREETING_WITHIN_MS) return system.setTimer(delayMs, run);
      open.add(run);
      return { cancel: () => void open.delete(run) };
    };
    const node = await cluster.startAs("a", { secrets, runtime: { ...system, setTimer } });
    const other = await cluster.startAs("b", { secrets });
    cluster.meet();
    await cluster.until(() => other.bus.load().connections === 1 && open.size === 0);
    const stream = new RawStream(node.address, KEY);
    streams.push(stream);
    await cluster.until(() => open.size === 1);
    return { open, stream };
  };
  const endsLate = async ({ open, stream }: Awaited<ReturnType<typeof scene>>) => {
    for (const end of open) end();
    const { code, details } = await stream.status;
    assert.deepEqual([code, details], [status.DEADLINE_EXCEEDED, "no greeting came in time"]);
  };

  it("is ten seconds for a stream that says nothing", async () => {
    assert.equal(GREETING_WITHIN_MS, 10_000);
    await endsLate(await scene());
  });

  it("goes on after a challenge that nobody answers", async () => {
    const { open, stream } = await scene(SECRET);
    stream.hello("b", "a", "nonce");
    assert.ok((await stream.reply()).challenge);
    await endsLate({ open, stream });
  });

  it("ends with the welcome", async () => {
    const { open, stream } = await scene();
    stream.hello("b", "a");
    assert.ok((await stream.reply()).welcome);
    assert.equal(open.size, 0);
  });
});
