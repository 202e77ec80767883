import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { refuse, valuesOf } from "../packages/crash/src/command-line.ts";
import { buildSite, SITE } from "./docs-site/build.ts";
import { builtFaults } from "./docs-site/built-links.ts";
import { serveSite } from "./docs-site/serve.ts";
import type { Staged } from "./docs-site/stage.ts";
import { firstLine } from "./profile/running.ts";

/**
 * Makes the site of the documentation in dist/docs: `npm run docs`. With a dead link it ends with 1 and a line for each. `--check` also checks the
 * commands of all pages, and reads the site in Chromium. `--serve` shows it on loopback (`--port`, 8090), `--base /PATH/` makes it for a server that
 * shows it below a path.
 */

const USAGE = "Usage: npm run docs -- [--check] [--serve [--port N]] [--base /PATH/]";
const values = valuesOf(USAGE, {
  check: { type: "boolean", default: false },
  serve: { type: "boolean", default: false },
  port: { type: "string", default: "8090" },
  base: { type: "string", default: "/" },
});
const port = Number(values.port);
if (!/^\/([\w-]+\/)*$/.test(values.base)) refuse(USAGE, `docs: --base begins and ends with /, unlike "${values.base}"`);
if (!Number.isInteger(port) || port < 0 || port > 65_535)
  refuse(USAGE, `docs: --port is a whole number from 0 to 65535, not "${values.port}"`);

const faults = await made(values.base, values.check);
for (const fault of faults) console.error(`docs: ${fault}`);
if (faults.length > 0) process.exitCode = 1;
else if (values.serve) {
  const { url } = await serveSite(SITE, port);
  console.log(`docs: ${url}${values.base}`);
}

/** Makes the site. @returns a line for each fault */
async function made(base: string, isChecked: boolean): Promise<string[]> {
  let staged: Staged;
  try {
    staged = await buildSite(base);
  } catch (error) {
    return [firstLine(error)];
  }
  const { pages, external, texts, faults: dead } = staged;
  // Only a check loads the whole command, and below the browser.
  const looked = isChecked ? (await import("./docs-site/covered.ts")).covered(texts) : null;
  const unknown = looked?.faults ?? [];
  if (dead.length > 0) return [...dead, ...unknown];
  const listed = [...external].sort().map(([target, from]) => `${target}  ${from.join(" ")}\n`);
  writeFileSync(join(SITE, "external-links.txt"), listed.join(""));
  const links = builtFaults(SITE, base);
  const where = `${pages} pages in ${relative(".", SITE)}, ${links.length} dead links`;
  console.log(`docs: ${where}, ${external.size} links to other sites in external-links.txt`);
  if (looked === null) return links;
  console.log(`docs: tests know ${looked.blocks} blocks of code, and ${looked.commands} commands were looked up`);
  // The server on which Chromium reads the site shows it at the root.
  if (links.length > 0 || base !== "/") return [...links, ...unknown];
  const { browse } = await import("./docs-site/browse.ts");
  const read = await browse(SITE).then(
    () => [],
    (error: unknown) => [firstLine(error)],
  );
  if (read.length === 0) console.log("docs: pages, sidebar, pictures, search and dark work in Chromium");
  return [...unknown, ...read];
}
