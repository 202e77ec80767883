import { after, before, describe } from "node:test";
import { storeConformance } from "../../../ports/conformance/store.conformance.ts";
import type { NewRequest } from "../../../ports/conformance/store-scene.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { asked, openTestStore, type TestServer } from "./databases.ts";

/** Runs the port's conformance suite on a server, with a database of its own for each test. */
export function testConformance(name: string, start: () => Promise<TestServer>): void {
  describe(`the sql store on ${name}`, () => {
    let server: TestServer;
    before(async () => {
      server = await start();
    });
    after(() => server.stop());

    storeConformance(name, async (isTelling = false) => {
      const runtime = systemRuntime();
      const database = await server.newStoreDatabase();
      const store = await openTestStore(database, runtime, runtime.uuid(), { isTelling });
      const addRequests = async (requests: readonly NewRequest[]) => {
        const keys = requests.map(({ idempotencyKey = null }) => idempotencyKey);
        const jobs = `[${requests.map(({ body }) => body).join(",")}]`;
        const text = "SELECT unnest(mainspring.mainspring_submit_batch($1, $2))::text";
        return (await asked(database, text, [jobs, keys])).map(([id]) => id as string);
      };
      return { store, runtime, addRequests, close: () => store.close() };
    });
  });
}
