import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Client } from "@mainspring/sdk";
import { Receiver, SECRET } from "@mainspring/server/testing";
import { Webhook } from "standardwebhooks";
import { startPostgres, type TestPostgres } from "../../../tools/services/start-postgres.ts";
import { ServerProcess } from "./testing/server-process.ts";

/** Number of jobs in a round. There is a round before, between and after the kills. */
const JOBS = 40;

describe("webhooks, on PostgreSQL, with two servers that are killed", () => {
  let postgres: TestPostgres;
  let receiver: Receiver;
  let servers: [ServerProcess, ServerProcess];
  before(async () => {
    [postgres, receiver] = await Promise.all([startPostgres({ version: 14 }), new Receiver().start()]);
    const env = {
      ...{ MAINSPRING_STORE: postgres.url, MAINSPRING_BUS: "mesh", MAINSPRING_STOP_DELAY_SEC: "0" },
      ...{ MAINSPRING_WEBHOOK_SECRET: SECRET, MAINSPRING_HTTP_ALLOW_PRIVATE: "127.0.0.0/8" },
    };
    servers = [new ServerProcess(env), new ServerProcess(env)];
    await Promise.all(servers.map((server) => server.start()));
  });
  after(async () => {
    await Promise.all((servers ?? []).map((server) => server.end("SIGTERM")));
    await receiver?.stop();
    await postgres?.stop();
  });

  const clientOf = ({ httpUrl }: ServerProcess) =>
    new Client({ url: httpUrl, retryForMs: 60_000, warn: () => undefined });
  const submitRound = async (client: Client) => {
    const job = { target: { handler: "echo" }, onFinish: { url: receiver.url } };
    const items = await client.submitBatch(Array.from({ length: JOBS }, () => job));
    return items.map((item) => {
      assert.ok("executionId" in item);
      return item.executionId;
    });
  };

  it("tell each end, although servers are killed between ends and their deliveries", { timeout: 240_000 }, async () => {
    const [a, b] = servers.map(clientOf) as [Client, Client];
    const wanted: string[] = [];
    for (const [index, killed] of servers.entries()) {
      // Deliveries are under way and have no answer while the server is killed.
      receiver.answer = () => undefined;
      const before = receiver.received.length;
      wanted.push(...(await submitRound(index === 0 ? a : b)));
      await receiver.until((all) => all.length > before);
      await killed.end("SIGKILL");
      receiver.answer = (response) => response.writeHead(204).end();
      await killed.start();
      wanted.push(...(await submitRound(index === 0 ? b : a)));
    }
    await receiver.until((all) => {
      const told = new Set(all.map(({ data }) => data.executionId));
      return wanted.every((id) => told.has(id));
    });
    assert.equal(wanted.length, 4 * JOBS);
    const told = new Set(receiver.received.map(({ data }) => data.executionId));
    assert.deepEqual([...told].sort(), [...new Set(wanted)].sort());
    // Older ones may be beyond the tolerance of five minutes.
    for (const { body, headers } of receiver.received.slice(-5))
      new Webhook(SECRET).verify(body, headers as Record<string, string>);
  });
});
