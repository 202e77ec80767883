import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { browse } from "./docs-site/browse.ts";
import { buildSite, SITE } from "./docs-site/build.ts";
import { builtFaults } from "./docs-site/built-links.ts";
import { serveSite } from "./docs-site/serve.ts";

/**
 * Makes the site of the documentation in dist/docs: `npm run docs`. `--check` also reads it in Chromium, `--serve` shows it on
 * loopback (`--port`, 8090), `--base /PATH/` makes it for a server that shows it below a path.
 */

const { values } = parseArgs({
  options: {
    check: { type: "boolean", default: false },
    serve: { type: "boolean", default: false },
    port: { type: "string", default: "8090" },
    base: { type: "string", default: "/" },
  },
});
if (!/^\/([\w-]+\/)*$/.test(values.base)) throw new Error(`--base begins and ends with /, unlike ${values.base}`);

const { pages, external } = await buildSite(values.base);
const listed = [...external].sort().map(([target, from]) => `${target}  ${from.join(" ")}\n`);
writeFileSync(join(SITE, "external-links.txt"), listed.join(""));
const faults = builtFaults(SITE, values.base);
for (const fault of faults) console.error(fault);
console.log(
  `docs: ${pages} pages in ${relative(".", SITE)}, ${faults.length} dead links, ${external.size} links to other sites in external-links.txt`,
);
if (faults.length > 0) process.exitCode = 1;
else if (values.check) {
  await browse(SITE);
  console.log("docs: pages, sidebar, pictures, search and dark work in Chromium");
}
if (values.serve && faults.length === 0) {
  const { url } = await serveSite(SITE, Number(values.port));
  console.log(`docs: ${url}${values.base}`);
}
