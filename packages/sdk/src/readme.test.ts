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

  it("names what there is to import", () => {
    const named = Object.keys(sdk).filter((name) => readme.includes(`\`${name}`));
    // The reason of `ctx.signal` is described where the signal is.
    assert.deepEqual(
      named.sort(),
      Object.keys(sdk)
        .filter((name) => name !== "AttemptAborted")
        .sort(),
    );
  });
});
