import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Client, type LedgerItem } from "@mainspring/sdk";
import { startTestNode, type TestNode } from "./node.fixture.ts";

/** The whole of it: HTTP, the real embedded store, the owner, a worker. */
describe("recurring jobs of a node", () => {
  let node: TestNode;
  let client: Client;
  before(async () => {
    node = await startTestNode();
    client = node.client;
  });
  after(() => node.stop());

  const target = { handler: "echo" };

  /** Waits until the ledger has this many instants of the outcome. @returns the ledger, oldest first */
  async function ledgerWith(jobId: string, outcome: LedgerItem["outcome"], count: number): Promise<LedgerItem[]> {
    for (;;) {
      const items: LedgerItem[] = [];
      for await (const item of client.jobs.ledger(jobId)) items.unshift(item);
      if (items.filter((item) => item.outcome === outcome).length >= count) return items;
    }
  }

  it("fire at each planned instant, and none goes missing over a pause and an edit", async () => {
    const { jobId } = await client.jobs.upsert("ticks", { target, everySec: 1, payload: 1 });
    await ledgerWith(jobId, "RAN", 2);
    await client.jobs.pause(jobId);
    await client.jobs.upsert("ticks", { target, everySec: 1, payload: 2 });
    await client.jobs.resume(jobId);
    const manual = await client.getExecution(await client.jobs.trigger(jobId), { waitSec: 30 });
    assert.deepEqual([manual.state, manual.trigger, manual.result], ["SUCCEEDED", "MANUAL", 2]);
    const items = await ledgerWith(jobId, "RAN", 4);
    const instants = items.map((item) => Date.parse(item.at));
    for (const [i, at] of instants.slice(1).entries())
      assert.equal(at - (instants[i] ?? 0), 1_000, `${i} of ${items.length}`);
    await client.deleteJob(jobId);
  });

  it("say up to when they are accounted for, also while an execution of a fixed delay runs", async () => {
    const delayed = {
      target: { handler: "sleep" },
      payload: { ms: 600_000 },
      everySec: 1,
      everyMode: "FIXED_DELAY",
    } as const;
    const { jobId } = await client.jobs.upsert("delayed", delayed);
    const ledger = async () => (await fetch(`${node.httpUrl}/v1/jobs/${jobId}/ledger`)).json() as Promise<LedgerAnswer>;
    for (;;) {
      const { items, accountedUntil } = await ledger();
      assert.notEqual(accountedUntil, null);
      // The job is read before its ledger, so its plan may still have the instant that runs by then.
      if (items[0]?.run?.state === "RUNNING" && (accountedUntil ?? "") > items[0].at) break;
    }
    await client.deleteJob(jobId, { cancelRunning: true });
  });
});

interface LedgerAnswer {
  items: LedgerItem[];
  accountedUntil: string | null;
}
