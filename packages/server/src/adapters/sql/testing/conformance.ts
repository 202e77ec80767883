import { after, before, describe } from "node:test";
import { storeConformance } from "../../../ports/conformance/store.conformance.ts";
import { systemRuntime } from "../../system/system-runtime.ts";
import { openTestStore, type TestServer } from "./databases.ts";

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
      const store = await openTestStore(await server.newStoreDatabase(), runtime, runtime.uuid(), { isTelling });
      return { store, runtime, close: () => store.close() };
    });
  });
}
