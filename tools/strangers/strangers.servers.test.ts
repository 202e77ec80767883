import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { equal, has } from "./site.ts";

const STRANGERS = fileURLToPath(new URL("../strangers.ts", import.meta.url));

it("the checks of a stranger find all as it should be", async () => {
  // Rejects, with the output, if the checks do not end with 0.
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [STRANGERS, "--items", "600"]);
  assert.equal(stderr, "");
  assert.deepEqual(stdout.match(/^\d+(?=[.] )/gm), ["1", "2", "3", "4", "5", "7", "8"]);
  assert.match(stdout, /\nAll is as it should be[.]\n$/);
});

it("a check says what it saw in place of what should be", () => {
  assert.deepEqual(equal("two", [1], [2]), { what: "two", saw: "[1], not [2]", isRight: false });
  assert.deepEqual(equal("two", [2], [2]), { what: "two", saw: "[2]", isRight: true });
  assert.deepEqual(has("b", "a\nb 1\n", /^b/), { what: "b", saw: "b 1", isRight: true });
  assert.equal(has("c", "a\nb", /^c/).isRight, false);
});
