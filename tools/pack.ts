import { mkdirSync } from "node:fs";
import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { packPackages } from "./pack/pack-packages.ts";
import { PUBLISHED } from "./pack/published.ts";

/**
 * Makes the tarballs that a release publishes: `npm run pack -- --to FOLDER` those of all published packages,
 * `npm run pack -- proto sdk --to FOLDER` those of two. Prints the path of each. The sources run as they are in the repository; Node does
 * not strip types below node_modules. `--repository URL` is written into the packages; npm's provenance asks for it.
 */

const { values, positionals } = parseArgs({
  options: { to: { type: "string" }, repository: { type: "string" } },
  allowPositionals: true,
});
if (values.to === undefined) {
  console.error("pack: say where to put the tarballs, as: npm run pack -- --to dist");
  process.exit(2);
}
const folder = resolve(values.to);
mkdirSync(folder, { recursive: true });
const names = positionals.length === 0 ? PUBLISHED : positionals;
for (const tarball of packPackages(names, folder, values.repository ?? null)) console.log(tarball);
