import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { describeKeys } from "../../packages/server/src/testing.ts";
import { pages } from "./pages.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the reference", () => {
  it("says what the code says: problems, metrics, configuration", () => {
    for (const { name, is, shouldBe } of pages()) {
      assert.equal(is, shouldBe, `docs/reference/${name} is stale: npm run generate`);
    }
  });

  it("has every key that can be chosen in the README and in the help of the command too", () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const help = readFileSync(join(ROOT, "packages/cli/src/commands/serve.ts"), "utf8");
    for (const { name, fallback } of describeKeys()) {
      // Settings without a default have one possible value, except the key.
      if (fallback === null && !name.endsWith("_KEY") && !name.endsWith("_SECRET")) continue;
      const hasDefault = fallback !== null && fallback !== "";
      assert.match(readme, new RegExp(`\`${name}\` \\| ${hasDefault ? `\`${fallback}\`` : "none"}`), name);
      assert.match(help, new RegExp(hasDefault ? `${name}=${fallback} ` : `${name} `), name);
    }
  });
});
