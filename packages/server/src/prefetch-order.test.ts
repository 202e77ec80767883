import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { task } from "@mainspring/sdk";
import { startTestNode, type TestNode, WORKERS } from "./node.fixture.ts";

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
  let node: TestNode;
  before(async () => {
    node = await startTestNode();
  });
  after(() => node.stop());

  const startsNext = async (pool: string, holder: Holder) => {
    const { client } = node;
    const backlog = Array.from({ length: BACKLOG }, () => ({ target: { handler: "hold", pool }, payload: "slow" }));
    await client.submitBatch(backlog);
    await holder.startedCount(SLOTS);
    await client.submit({ target: { handler: "hold", pool }, payload: "urgent", priority: "CRITICAL" });
    holder.end();
    await holder.startedCount(SLOTS + 1);
    return holder.started.at(-1);
  };
  const holdTask = (holder: Holder) => task({ name: "hold", run: (payload: string) => holder.run(payload) });

  for (const [place, workerOf] of Object.entries(WORKERS)) {
    it(`starts when the first handler ends, with a worker ${place}`, async () => {
      const pool = place.replaceAll(" ", "-");
      const holder = new Holder();
      const worker = workerOf(node, { pool, slots: SLOTS, tasks: [holdTask(holder)] });
      await worker.start();
      assert.equal(await startsNext(pool, holder), "urgent");
      const stopped = worker.stop();
      holder.endAll();
      await stopped;
    });
  }
});
