import { after, before } from "node:test";
import { storeConformance } from "../../ports/store.conformance.ts";
import { systemRuntime } from "../system/system-runtime.ts";
import { openTestStore, startTestServer, type TestServer } from "./testing/databases.ts";

let server: TestServer;
before(async () => {
  server = await startTestServer();
});
after(() => server.stop());

storeConformance("the embedded PostgreSQL", async () => {
  const runtime = systemRuntime();
  const store = await openTestStore(await server.newDatabase(), runtime);
  return { store, runtime, close: () => store.close() };
});
