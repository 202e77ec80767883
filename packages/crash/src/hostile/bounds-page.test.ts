import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { it } from "node:test";

const ROOT = new URL("../../../../", import.meta.url);
/** A row of a table: its last cell names a file, and the end of the name of a test in it. */
const ROW = /^\|.*\| `([^`]+\.test\.ts)`: (.+?) \|$/gm;

it("the page about hostile input names tests that exist", async () => {
  const page = await readFile(new URL("docs/internals/hostile-input.md", ROOT), "utf8");
  const [bounds = ""] = page.split("## Figures");
  const tables = bounds.split("\n").filter((line) => line.startsWith("| ") && !/^\| (bound|---)/.test(line));
  const rows = [...page.matchAll(ROW)];
  assert.equal(rows.length, tables.length, "each row names a test");
  for (const [, path = "", name = ""] of rows) {
    const source = await readFile(new URL(path, ROOT), "utf8");
    assert.ok(source.includes(name), `${path} has no test "${name}"`);
  }
});
