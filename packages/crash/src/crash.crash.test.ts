import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crashRun } from "./crash-run.ts";
import { STORE_KINDS } from "./environment/environment.ts";
import { formatReport } from "./format-report.ts";
import { untilAllIsSeen } from "./sightings.ts";

// The tests run side by side, because most of their time is spent waiting for timeouts of stopped processes.
describe("everything that was accepted comes out right, whatever dies meanwhile", { concurrency: true }, () => {
  for (const store of STORE_KINDS) {
    it(`on the store "${store}"`, async () => {
      const say = (message: string) => console.log(`${store}, ${message}`);
      const report = await untilAllIsSeen(1, async (seed) => {
        const one = await crashRun({ store, forMs: 0, seed, say });
        say(formatReport(one));
        return one;
      });
      assert.deepEqual(report.violations, []);
    });
  }
});
