import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client, task, Worker } from "@mainspring/sdk";
import { until } from "@mainspring/server/testing";
import { type ClusterNode, TestCluster } from "./testing/cluster.ts";

/** Level of a program that knows no policies, and of the one after it. */
const OLDER = 2;
const NEWER = 3;

describe("policies of tasks in a cluster of nodes of two ages", () => {
  let cluster: TestCluster;
  let older: ClusterNode;
  let newer: ClusterNode;
  let worker: Worker | null = null;
  before(async () => {
    cluster = await TestCluster.open();
    older = await cluster.nodeOf(OLDER);
    newer = await cluster.nodeOf(NEWER);
  });
  after(async () => {
    await worker?.stop();
    await cluster.close();
  });

  it("are kept when the last node knows of them, though the worker connected before", async () => {
    const client = new Client({ url: newer.httpUrl });
    await until(async () => (await client.cluster.status()).level === OLDER);
    const url = [newer.grpcAddress, older.grpcAddress];
    worker = new Worker({
      tasks: [task({ name: "mail", timeoutSec: 5, run: () => "sent" })],
      url,
      warn: () => undefined,
    });
    await worker.start();
    const target = { handler: "mail" };
    const early = await client.submit({ target });
    assert.equal((await client.waitForExecution(early.executionId)).result, "sent");
    assert.deepEqual([(await client.getJob(early.jobId)).timeoutSec, early.warnings], [3_600, undefined]);
    await assert.rejects(client.handlers.list().next(), {
      code: "CONFLICT",
      message: new RegExp(
        `${older.grpcAddress} \\(0\\.0\\.9\\) has feature level ${OLDER} and does not know of which handlers`,
      ),
    });

    older.command.signal("SIGTERM");
    await older.command.done;
    const timeoutSec = async () => (await client.getJob((await client.submit({ target })).jobId)).timeoutSec;
    await until(async () => (await timeoutSec()) === 5);
    const { value: shown } = await client.handlers.list({ handler: "mail" }).next();
    assert.deepEqual(shown && [shown.policies, shown.workers], [{ timeoutSec: 5 }, 1]);
  });
});
