import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import * as sdk from "./index.ts";

const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");

describe("the README", () => {
  it("shows an example as it is run", async () => {
    const example = await readFile(new URL("../../../examples/greet.ts", import.meta.url), "utf8");
    assert.ok(readme.includes(`\`\`\`ts\n${example}\`\`\``));
  });

  it("has a line for each code of an error", () => {
    const missing = sdk.ERROR_CODES.filter((code) => !new RegExp(`^\\|.*\`${code}\`.*\\|$`, "m").test(readme));
    assert.deepEqual(missing, []);
  });

  it("names what there is to import", () => {
    const named = Object.keys(sdk).filter((name) => readme.includes(`\`${name}`));
    // The README describes the reason of `ctx.signal` next to the signal.
    assert.deepEqual(
      named.sort(),
      Object.keys(sdk)
        .filter((name) => name !== "AttemptAborted")
        .sort(),
    );
  });
});
