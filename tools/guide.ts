import { readFileSync } from "node:fs";
import { installPeers } from "../packages/bench/src/peers.ts";
import { readPage } from "./guide/blocks.ts";
import { runPage } from "./guide/run-page.ts";

/**
 * Runs the examples of pages: `guide.ts [--peers] PAGE…`. Tests do so with all pages of docs/guides and docs/coming-from. With `--peers`
 * also those of other systems, which it installs with the peers of the benchmark.
 */

const withPeers = process.argv.includes("--peers");
const pages = process.argv.slice(2).filter((argument) => argument !== "--peers");
if (pages.length === 0) {
  console.error("guide: say which pages to run, as: guide.ts docs/guides/test-your-jobs.md");
  process.exitCode = 2;
}
if (withPeers) await installPeers();
for (const page of pages) {
  await runPage(readPage(readFileSync(page, "utf8")), withPeers);
  console.log(`${page}: all blocks ran`);
}
