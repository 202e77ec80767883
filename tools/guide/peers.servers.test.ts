import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { before, describe, it } from "node:test";
import { installPeers } from "../../packages/bench/src/peers.ts";
import { readPage } from "./blocks.ts";
import { runPage } from "./run-page.ts";
import { typeCheck } from "./type-check.ts";

const ROOT = resolve(import.meta.dirname, "../..");

const PAGES = globSync("docs/coming-from/*.md", { cwd: ROOT })
  .sort()
  .map((path) => ({ path, page: readPage(readFileSync(join(ROOT, path), "utf8")) }))
  .filter(({ page }) => page.blocks.some(({ needsPeers }) => needsPeers));

// The programs mostly wait.
describe("programs of other systems in the pages", { concurrency: 2 }, () => {
  before(installPeers);

  it("are those of three systems", () => {
    assert.deepEqual(
      PAGES.map(({ path }) => path),
      ["docs/coming-from/bullmq.md", "docs/coming-from/graphile-worker.md", "docs/coming-from/pg-boss.md"],
    );
  });

  for (const { path, page } of PAGES) {
    it(`${path} says what they do, and moves their jobs`, async () => {
      await assert.doesNotReject(runPage(page, true));
    });
  }

  it("compile with the types of their packages", async () => {
    assert.deepEqual(
      await typeCheck(
        PAGES.map(({ page }) => page),
        true,
      ),
      { code: 0, stdout: "", stderr: "" },
    );
  });
});
