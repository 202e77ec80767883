import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const STRANGERS = fileURLToPath(new URL("../../strangers-tenants.ts", import.meta.url));

it("the checks of tenants by a stranger find all as it should be", async () => {
  // Rejects, with the output, if the checks do not end with 0.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    STRANGERS,
    "--jobs",
    "20000",
    "--times",
    "off",
  ]);
  assert.equal(stderr, "");
  assert.deepEqual(stdout.match(/^\d+(?=[.] )/gm), ["1", "2", "3", "5", "6", "8"]);
  assert.match(stdout, /\nAll is as it should be[.]\n$/);
});
