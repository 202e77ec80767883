import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, it } from "node:test";
import { Worker } from "node:worker_threads";
import { startTestServer, type TestServer } from "../testing/databases.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

it("leaves next to nothing of an answered statement to the collection of all memory", async () => {
  const asking = new Worker(new URL("./run-query.fixture.ts", import.meta.url), {
    workerData: { connection: await server.newDatabase() },
  });
  const [bytesEach] = (await once(asking, "message")) as [number];
  await once(asking, "exit");
  // With pg's promises, a statement leaves 2 KB.
  assert.ok(bytesEach < 500, `${bytesEach} bytes of each statement`);
});
