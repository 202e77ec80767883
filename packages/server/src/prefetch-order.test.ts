import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { type RunningNode, startNode } from "./node.ts";
import { loadConfig } from "./ops/config.ts";

const SLOTS = 4;
const BACKLOG = 200;

/** Handlers that run until the test ends them. */
class Holder {
  readonly started: string[] = [];
  readonly #ends: (() => void)[] = [];
  #watch: (() => void) | null = null;

  run(name: string): Promise<void> {
    this.started.push(name);
    this.#watch?.();
    return new Promise((resolve) => void this.#ends.push(resolve));
  }

  /** Ends the handler that has run for the longest time. */
  end(): void {
    this.#ends.shift()?.();
  }

  endAll(): void {
    for (const end of this.#ends.splice(0)) end();
  }

  async startedCount(count: number): Promise<void> {
    while (this.started.length < count) await new Promise<void>((resolve) => (this.#watch = resolve));
  }
}

/** Workers with default settings at a whole server with the embedded store. */
describe("an urgent job behind a long backlog", () => {
  let folder: string;
  let node: RunningNode;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "mainspring-prefetch-"));
    const fields = { MAINSPRING_HTTP: "127.0.0.1:0", MAINSPRING_GRPC: "127.0.0.1:0", MAINSPRING_LOG_LEVEL: "fatal" };
    node = await startNode(loadConfig({ ...fields, MAINSPRING_DATA_DIR: folder }));
  });
  after(async () => {
    await node.stop();
    await rm(folder, { recursive: true });
  });

  const startsNext = async (pool: string, holder: Holder) => {
    const client = new Client({ url: node.httpUrl });
    const backlog = Array.from({ length: BACKLOG }, () => ({ target: { handler: "hold", pool }, payload: "slow" }));
    await client.submitBatch(backlog);
    await holder.startedCount(SLOTS);
    await client.submit({ target: { handler: "hold", pool }, payload: "urgent", priority: "CRITICAL" });
    holder.end();
    await holder.startedCount(SLOTS + 1);
    return holder.started.at(-1);
  };
  const holdTask = (holder: Holder) => task({ name: "hold", run: (payload: string) => holder.run(payload) });

  it("starts when the first handler ends, with a worker over gRPC", async () => {
    const holder = new Holder();
    const settings = { url: node.grpcAddress, pool: "remote", slots: SLOTS, warn: () => undefined };
    const worker = new Worker({ ...settings, tasks: [holdTask(holder)] });
    await worker.start();
    assert.equal(await startsNext("remote", holder), "urgent");
    const stopped = worker.stop();
    holder.endAll();
    await stopped;
  });

  it("starts when the first handler ends, with a worker inside the server", async () => {
    const holder = new Holder();
    const worker = node.attachWorker({ pool: "inside", slots: SLOTS, tasks: [holdTask(holder)] });
    await worker.start();
    assert.equal(await startsNext("inside", holder), "urgent");
    const stopped = worker.stop();
    holder.endAll();
    await stopped;
  });
});
