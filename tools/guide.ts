import { readFileSync } from "node:fs";
import { readPage } from "./guide/blocks.ts";
import { runPage } from "./guide/run-page.ts";

/** Runs the examples of pages: `guide.ts PAGE…`. Tests do so with all pages of docs/guides. */

const pages = process.argv.slice(2);
if (pages.length === 0) {
  console.error("guide: say which pages to run, as: guide.ts docs/guides/test-your-jobs.md");
  process.exitCode = 2;
}
for (const page of pages) {
  await runPage(readPage(readFileSync(page, "utf8")));
  console.log(`${page}: all blocks ran`);
}
