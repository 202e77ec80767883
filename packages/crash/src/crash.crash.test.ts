import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { crashRun } from "./crash-run.ts";
import { formatReport } from "./format-report.ts";
import { STORE_KINDS } from "./stage/stage.ts";

// Side by side: most of the time is spent waiting for what was stopped to be given up.
describe("everything that was accepted comes out right, whatever dies meanwhile", { concurrency: true }, () => {
  for (const store of STORE_KINDS) {
    it(`on the store "${store}"`, async () => {
      const say = (message: string) => console.log(`${store}, ${message}`);
      const report = await crashRun({ store, forMs: 0, seed: 1, say });
      say(formatReport(report));
      assert.deepEqual(report.violations, []);
    });
  }
});
