import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { describeKeys } from "../../packages/server/src/testing.ts";
import { API_DOCUMENT, readApiDocument, textOf } from "./api-document.ts";
import { anchorOf } from "./markdown.ts";
import { pages } from "./pages.ts";

const ROOT = join(import.meta.dirname, "../..");

describe("the reference", () => {
  it("says what the code says", async () => {
    for (const { name, is, shouldBe } of await pages()) {
      assert.equal(is, shouldBe, `docs/${name} is stale: npm run generate`);
    }
  });

  it("has the document of the API as servers give it", async () => {
    const [is, shouldBe] = [readFileSync(API_DOCUMENT, "utf8"), textOf(await readApiDocument())];
    assert.equal(is, shouldBe, "packages/server/openapi.json is stale: npm run generate");
  });

  it("has a section for every operation and every named schema of the API", async () => {
    const { paths, components } = await readApiDocument();
    const headings = headingsOf("api.md");
    const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
    assert.ok(operations.length > 40);
    for (const { operationId } of operations) assert.ok(headings.includes(operationId), operationId);
    for (const name of Object.keys(components.schemas)) assert.ok(headings.includes(`Schema ${name}`), name);
  });

  it("has a section for every export of the SDK and of the test kit", () => {
    const headings = headingsOf("sdk.md").map((heading) => heading.split(" ").at(-1));
    for (const name of ["sdk/src", "sdk/src/sql", "testkit/src"]) {
      const index = readFileSync(join(ROOT, `packages/${name}/index.ts`), "utf8");
      const lists = [...index.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].map(([, list = ""]) => list);
      const exported = lists
        .join()
        .split(",")
        .map((part) => part.trim().replace(/^type /, ""));
      assert.ok(exported.length >= 8);
      for (const part of exported.filter((one) => one !== "")) assert.ok(headings.includes(part), `${name}: ${part}`);
    }
  });

  it("has links that lead to headings, each of which has an anchor of its own", () => {
    for (const name of ["api.md", "sdk.md"]) {
      const anchors = headingsOf(name).map(anchorOf);
      assert.deepEqual(
        anchors.filter((anchor, index) => anchors.indexOf(anchor) !== index),
        [],
        `${name}: headings that share an anchor`,
      );
      for (const [, anchor = ""] of read(name).matchAll(/\]\(#([^)]*)\)/g))
        assert.ok(anchors.includes(anchor), `${name}: no heading has the anchor #${anchor}`);
    }
  });

  it("has every key that can be chosen in the README and in the help of the command too", () => {
    const readme = readFileSync(join(ROOT, "README.md"), "utf8");
    const help = readFileSync(join(ROOT, "packages/cli/src/commands/serve.ts"), "utf8");
    for (const { name, fallback } of describeKeys()) {
      // A setting without a default must have one possible value, except keys and secrets.
      if (fallback === null && !name.endsWith("_KEY") && !name.endsWith("_SECRET")) continue;
      const hasDefault = fallback !== null && fallback !== "";
      assert.match(readme, new RegExp(`\`${name}\` \\| ${hasDefault ? `\`${fallback}\`` : "none"}`), name);
      assert.match(help, new RegExp(hasDefault ? `${name}=${fallback} ` : `${name} `), name);
    }
  });
});

function read(name: string): string {
  return readFileSync(join(ROOT, "docs/reference", name), "utf8");
}

function headingsOf(name: string): string[] {
  return [...read(name).matchAll(/^#+ (.+)$/gm)].flatMap(([, heading]) => heading ?? []);
}
