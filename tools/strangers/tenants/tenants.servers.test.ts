import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const STRANGERS = fileURLToPath(new URL("../../strangers-tenants.ts", import.meta.url));
/** Number of jobs of a backlog: several times what the slots of two nodes run in the time of a check. */
const JOBS = 1_500;

it("the checks of tenants by a stranger find all as it should be, by counts and the order alone", async () => {
  // Rejects, with the output, if the checks do not end with 0.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    ...[STRANGERS, "--jobs", String(JOBS), "--times", "off"],
  ]);
  assert.equal(stderr, "");
  assert.deepEqual(stdout.match(/^\d+(?=[.] )/gm), ["1", "2", "3", "4", "5", "6", "7", "8", "9"]);
  assert.match(stdout, /\nAll is as it should be[.]\n$/);
});
